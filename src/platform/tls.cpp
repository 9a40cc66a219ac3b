// src/platform/tls.cpp - see tls.h.
#include "platform/tls.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace millrace {

namespace {

constexpr unsigned char cipher_id[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

struct Free {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* session) const { ::SSL_free(session); }
};

// What OpenSSL says went wrong last; empties its queue, which belongs to the thread and would confuse the next caller.
std::pair<int, std::string> ssl_problem() {
  const unsigned long code = ::ERR_peek_error();
  ::ERR_clear_error();
  if (code == 0) return {0, "unknown problem"};
  const char* text = ::ERR_reason_error_string(code);
  return {ERR_GET_REASON(code), text ? text : "problem " + std::to_string(code)};
}

// A session made of nothing but the shared key; TLS treats it like one resumed from an earlier connection.
SSL_SESSION* session_of(SSL* ssl, std::string_view key) {
  MR_ASSERT(key.size() == node_key_size);
  const SSL_CIPHER* cipher = ::SSL_CIPHER_find(ssl, cipher_id);
  SSL_SESSION* session = ::SSL_SESSION_new();
  MR_ASSERT(cipher != nullptr && session != nullptr);
  const bool made =
      ::SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1 &&
      ::SSL_SESSION_set_cipher(session, cipher) == 1 &&
      ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  MR_ASSERT(made);
  return session;
}

std::unique_ptr<SSL_CTX, Free> make_context(const SSL_METHOD* method) {
  std::unique_ptr<SSL_CTX, Free> context{::SSL_CTX_new(method)};
  MR_ASSERT(context != nullptr);
  const bool set = ::SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                   ::SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                   ::SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256") == 1;
  MR_ASSERT(set);
  // No tickets: a session that could be resumed without the node's key would outlive a change of the key.
  ::SSL_CTX_set_num_tickets(context.get(), 0);
  ::SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  return context;
}

}  // namespace

struct TlsServer::Shared {
  NodeKeyOf key_of;
  std::unique_ptr<SSL_CTX, Free> context;
};

namespace {

class TlsFilter final : public StreamFilter {
 public:
  TlsFilter(SSL_CTX& context, bool server) : server_(server), ssl_(::SSL_new(&context)) {
    MR_ASSERT(ssl_ != nullptr);
    BIO* in = ::BIO_new(::BIO_s_mem());
    out_ = ::BIO_new(::BIO_s_mem());
    MR_ASSERT(in != nullptr && out_ != nullptr);
    in_ = in;
    ::SSL_set_bio(ssl_.get(), in_, out_);  // owned by ssl_ from here on
    SSL_set_app_data(ssl_.get(), this);
    server ? ::SSL_set_accept_state(ssl_.get()) : ::SSL_set_connect_state(ssl_.get());
  }
  ~TlsFilter() override { ::OPENSSL_cleanse(key_.data(), key_.size()); }

  // Everything that keeps the context and the keys alive; the client's own identity and key.
  std::shared_ptr<void> keep_;
  const NodeKeyOf* key_of_ = nullptr;
  std::string identity_, key_;
  std::string presented_;  // the client's: its name, or a credential
  bool claimed_ = false, known_ = false;

  Result<void> begin() { return shake(); }

  Result<void> received(std::string_view bytes, std::string& plain) override {
    const int taken = ::BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    MR_ASSERT(taken == static_cast<int>(bytes.size()));  // a memory BIO takes all
    if (!established_) {
      auto shaken = shake();
      if (!shaken || !established_) return shaken;
    }
    for (;;) {
      const std::size_t before = plain.size();
      plain.resize(before + (16u << 10));  // one TLS record
      std::size_t count = 0;
      ::ERR_clear_error();
      const int outcome = ::SSL_read_ex(ssl_.get(), plain.data() + before, plain.size() - before, &count);
      plain.resize(before + count);
      if (outcome == 1) continue;
      const int reason = ::SSL_get_error(ssl_.get(), outcome);
      if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_ZERO_RETURN) return {};
      return fail(Errc::io, "encrypted session with " + identity_ + ": " + ssl_problem().second);
    }
  }

  Result<void> send(std::string_view plain) override {
    MR_ASSERT(established_);
    std::size_t taken = 0;
    ::ERR_clear_error();
    if (::SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken) == 1 && taken == plain.size()) return {};
    return fail(Errc::io, "encrypted session with " + identity_ + ": " + ssl_problem().second);
  }

  std::string take_output() override {
    std::string bytes(::BIO_ctrl_pending(out_), '\0');
    if (!bytes.empty()) {
      const int count = ::BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
      MR_ASSERT(count == static_cast<int>(bytes.size()));
    }
    return bytes;
  }

  bool established() const override { return established_; }
  std::string identity() const override { return identity_; }
  void finish() override {
    if (established_) ::SSL_shutdown(ssl_.get());
    ::ERR_clear_error();
  }

 private:
  Result<void> shake() {
    ::ERR_clear_error();
    const int outcome = ::SSL_do_handshake(ssl_.get());
    if (outcome == 1) {
      // "Reused" is how OpenSSL says that the shared key, and nothing else, made this session.
      if (::SSL_session_reused(ssl_.get()) != 1 || (server_ && !known_))
        return fail(Errc::refused, "node key is not accepted: the peer did not use one");
      established_ = true;
      return {};
    }
    if (::SSL_get_error(ssl_.get(), outcome) == SSL_ERROR_WANT_READ) return {};
    const auto [reason, text] = ssl_problem();
    return fail(Errc::refused, server_ ? server_story(reason, text) : client_story(reason, text));
  }

  std::string server_story(int reason, const std::string& text) const {
    if (claimed_ && !known_) return "node key is not accepted: there is no node '" + identity_ + "' here";
    if (reason == SSL_R_BINDER_DOES_NOT_VERIFY)
      return "node key is not accepted: the peer says it is node '" + identity_ +
             "' but holds another key (of another cluster, or an old one)";
    return "no encrypted session" + (claimed_ ? " with node '" + identity_ + "'" : std::string{}) + ": " + text;
  }

  std::string client_story(int reason, const std::string& text) const {
    // Reasons above this number are alerts sent by the other side: it refused us.
    if (reason >= SSL_AD_REASON_OFFSET)
      return "node key is not accepted: the controller refuses node '" + identity_ +
             "' (it does not know the node, or the key is of another cluster): " + text;
    return "no encrypted session as node '" + identity_ + "': " + text;
  }

  const bool server_;
  std::unique_ptr<SSL, Free> ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  bool established_ = false;
};

TlsFilter& filter_of(SSL* ssl) { return *static_cast<TlsFilter*>(SSL_get_app_data(ssl)); }

extern "C" int mr_psk_find_session(SSL* ssl, const unsigned char* identity, std::size_t length,
                                   SSL_SESSION** session) noexcept {
  TlsFilter& filter = filter_of(ssl);
  *session = nullptr;
  // A credential is good for one look: a handshake that begins again is not asked again.
  if (!filter.claimed_) {
    filter.claimed_ = true;
    // The name goes into logs before it is proved: only what a node name may hold, and not a page of it.
    std::string name(reinterpret_cast<const char*>(identity), std::min<std::size_t>(length, 64));
    for (char& c : name)
      if (static_cast<unsigned char>(c) < 0x21 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    constexpr std::string_view credential = "MUNGE:";
    if (name.starts_with(credential)) name.replace(credential.size(), std::string::npos, "...");  // for nobody's eyes
    filter.identity_ = std::move(name);
    auto proof = (*filter.key_of_)({reinterpret_cast<const char*>(identity), length});
    if (!proof || proof->key.size() != node_key_size)
      return 1;  // no session: the handshake fails for want of a certificate
    filter.identity_ = std::move(proof->node);
    filter.key_ = std::move(proof->key);
    filter.known_ = true;
  }
  if (filter.known_) *session = session_of(ssl, filter.key_);
  return 1;
}

extern "C" int mr_psk_use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* length,
                                  SSL_SESSION** session) noexcept {
  const TlsFilter& filter = filter_of(ssl);
  *identity = reinterpret_cast<const unsigned char*>(filter.presented_.data());
  *length = filter.presented_.size();
  *session = session_of(ssl, filter.key_);
  return 1;
}

}  // namespace

TlsServer::TlsServer(NodeKeyOf key_of)
    : shared_(std::make_shared<Shared>(std::move(key_of), make_context(::TLS_server_method()))) {
  ::SSL_CTX_set_psk_find_session_callback(shared_->context.get(), mr_psk_find_session);
}

TlsServer::~TlsServer() = default;

std::unique_ptr<StreamFilter> TlsServer::accept() {
  auto filter = std::make_unique<TlsFilter>(*shared_->context, true);
  filter->key_of_ = &shared_->key_of;
  filter->keep_ = shared_;
  return filter;
}

std::unique_ptr<StreamFilter> tls_client(std::string identity, std::string key, std::string node) {
  MR_ASSERT(key.size() == node_key_size);
  MR_ASSERT(!identity.empty());
  const auto context = make_context(::TLS_client_method());
  ::SSL_CTX_set_psk_use_session_callback(context.get(), mr_psk_use_session);
  // There are no trusted issuers here, so a server that offers a certificate instead of the key fails.
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  auto filter = std::make_unique<TlsFilter>(*context, false);  // counts its own reference to the context
  filter->identity_ = node.empty() ? identity : std::move(node);
  filter->presented_ = std::move(identity);
  filter->key_ = std::move(key);
  const auto begun = filter->begin();
  MR_ASSERT(begun.has_value());  // only makes the first message
  return filter;
}

}  // namespace millrace
