// src/platform/tls_test.cpp - the encrypted session: the right key opens it, everything else is refused with its
// reason.
#include "platform/tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <optional>

#include "platform/dialer.h"
#include "platform/listener.h"
#include "platform/loop_fixture.h"
#include "platform/worker.h"

namespace millrace {
namespace {

struct TlsTest : LoopTest {
  const std::string key = std::string(node_key_size, 'k');
  ThreadWorker resolver{loop, "resolver"};
  Recorder server{loop}, client{loop};
  std::unique_ptr<FramedLink> accepted;
  std::vector<std::string> refused;
  std::unique_ptr<Listener> listener;

  void SetUp() override {
    Listener::Settings settings;
    settings.limits.first_message_time_max = patience();
    settings.refused = [this](std::string_view story) {
      refused.emplace_back(story);
      loop.stop();
    };
    const auto key_of = [this](std::string_view identity) -> std::optional<NodeProof> {
      if (identity.starts_with("SEALED:"))
        return NodeProof{std::string{identity.substr(7)}, key};  // a credential that holds a name
      return identity == "n1" ? std::optional{NodeProof{"n1", key}} : std::nullopt;
    };
    auto made =
        Listener::on_tls(loop, "127.0.0.1", 0, key_of, std::move(settings), [this](std::unique_ptr<FramedLink> link) {
          accepted = std::move(link);
          accepted->start(server);
        });
    ASSERT_TRUE(made) << made.error().story;
    listener = *std::move(made);
  }
  std::unique_ptr<Link> dial(const std::string& node, const std::string& with) {
    return TlsDialer(loop, resolver, "127.0.0.1", listener->port(), node, [&] { return NodeFace{node, with}; })
        .dial(client);
  }
};

TEST_F(TlsTest, A_credential_proves_the_name_it_holds_and_is_shown_to_nobody) {
  const auto link = TlsDialer(loop, resolver, "127.0.0.1", listener->port(), "n7", [&] {
                      return NodeFace{"SEALED:n7", key};
                    }).dial(client);
  link->send("hello");
  run_until([&] { return !server.messages.empty(); });
  EXPECT_EQ(accepted->peer().identity, "n7");
  accepted.reset();
  client.why.clear();
  const auto wrong = TlsDialer(loop, resolver, "127.0.0.1", listener->port(), "n8", [&] {
                       return NodeFace{"MUNGE:secret", key};
                     }).dial(client);
  run_until([&] { return !client.why.empty() && !refused.empty(); });
  EXPECT_NE(refused[0].find("there is no node 'MUNGE:...' here"), std::string::npos) << refused[0];
  EXPECT_EQ(client.why.find("secret"), std::string::npos) << client.why;
}

TEST_F(TlsTest, A_face_that_cannot_be_made_closes_the_link_with_the_reason) {
  const auto link = TlsDialer(loop, resolver, "127.0.0.1", listener->port(), "n1", [] {
                      return fail(Errc::unavailable, "munged is away");
                    }).dial(client);
  run_until([&] { return !client.why.empty(); });
  EXPECT_NE(client.why.find("munged is away"), std::string::npos) << client.why;
}

TEST_F(TlsTest, Right_key_opens_the_session_and_proves_the_name) {
  const auto link = dial("n1", key);
  link->send("hello");
  run_until([&] { return server.messages.size() == 1; });
  EXPECT_EQ(server.messages[0], "hello");
  EXPECT_EQ(accepted->peer().identity, "n1");
  accepted->send("welcome");
  const std::string large(3u << 20, 'y');
  accepted->send(large);
  run_until([&] { return client.messages.size() == 2; });
  EXPECT_EQ(client.messages[0], "welcome");
  EXPECT_EQ(client.messages[1], large);
  accepted.reset();
  run_until([&] { return !client.why.empty(); });
  EXPECT_NE(client.why.find("closed by peer"), std::string::npos) << client.why;
}

TEST_F(TlsTest, Wrong_key_is_refused_on_both_sides_with_the_name) {
  const auto link = dial("n1", std::string(node_key_size, 'x'));
  link->send("secret");
  run_until([&] { return !refused.empty() && !client.why.empty(); });
  for (const std::string& story : {refused.at(0), client.why}) {
    EXPECT_NE(story.find("node key is not accepted"), std::string::npos) << story;
    EXPECT_NE(story.find("'n1'"), std::string::npos) << story;
    EXPECT_NE(story.find("127.0.0.1:"), std::string::npos) << story;
  }
  EXPECT_EQ(accepted, nullptr);
  EXPECT_EQ(listener->connections(), 0u);
}

TEST_F(TlsTest, Unknown_node_is_refused_by_name) {
  const auto link = dial("stranger", key);
  run_until([&] { return !refused.empty() && !client.why.empty(); });
  EXPECT_NE(refused[0].find("there is no node 'stranger'"), std::string::npos) << refused[0];
  EXPECT_NE(client.why.find("node key is not accepted"), std::string::npos) << client.why;
}

TEST_F(TlsTest, Plain_bytes_are_refused) {
  FramedLink plain(loop, "plain", {}, nullptr);
  plain.start(client);
  plain.connect(parse_address("127.0.0.1", listener->port()));
  plain.send("who needs encryption");
  run_until([&] { return !refused.empty(); });
  EXPECT_NE(refused[0].find("no encrypted session"), std::string::npos) << refused[0];
}

TEST_F(TlsTest, Silent_peer_is_dropped_before_anybody_owns_it) {
  Listener::Settings settings;
  settings.limits.first_message_time_max = milliseconds(20);
  settings.refused = [this](std::string_view story) {
    refused.emplace_back(story);
    loop.stop();
  };
  auto impatient = Listener::on_tls(
      loop, "127.0.0.1", 0, [](auto) { return std::nullopt; }, std::move(settings),
      [](std::unique_ptr<FramedLink>) { FAIL(); });
  ASSERT_TRUE(impatient);
  FramedLink mute(loop, "mute", {}, nullptr);
  mute.start(client);
  mute.connect(parse_address("127.0.0.1", (*impatient)->port()));
  run_until([&] { return !refused.empty(); });
  EXPECT_NE(refused[0].find("no handshake"), std::string::npos) << refused[0];
}

// Anybody who reaches the port can connect and say nothing.
struct SilentPeers : TlsTest, testing::WithParamInterface<std::pair<std::size_t, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(, SilentPeers, testing::Values(std::pair{3u, 100u}, std::pair{100u, 3u}));

TEST_P(SilentPeers, keep_nobody_out) {
  const auto [in_all, of_one_host] = GetParam();
  Listener::Settings settings;
  settings.connections_max = 2;
  settings.handshakes_max = in_all;
  settings.handshakes_per_host_max = of_one_host;
  settings.refused = [this](std::string_view story) {
    refused.emplace_back(story);
    loop.stop();
  };
  std::vector<std::unique_ptr<FramedLink>> proven;
  auto made = Listener::on_tls(
      loop, "127.0.0.1", 0, [this](auto) { return NodeProof{"n1", key}; }, std::move(settings),
      [&](std::unique_ptr<FramedLink> link) {
        proven.push_back(std::move(link));
        proven.back()->start(server);
        loop.stop();
      });
  ASSERT_TRUE(made) << made.error().story;
  Recorder silent(loop);
  std::vector<std::unique_ptr<FramedLink>> mute;
  const auto connect_ten = [&] {
    for (int i = 0; i < 10; ++i) {
      mute.push_back(std::make_unique<FramedLink>(loop, "mute", LinkLimits{}, nullptr));
      mute.back()->start(silent);
      mute.back()->connect(parse_address("127.0.0.1", (*made)->port()));
    }
  };
  connect_ten();
  run_until([&] { return refused.size() == 7; });
  EXPECT_EQ((*made)->connections(), 3u);
  EXPECT_NE(refused[0].find("handshake was not done when others came"), std::string::npos) << refused[0];
  const auto agent =
      TlsDialer(loop, resolver, "127.0.0.1", (*made)->port(), "n1", [&] { return NodeFace{"n1", key}; }).dial(client);
  run_until([&] { return proven.size() == 1; });
  connect_ten();
  run_until([&] { return refused.size() >= 17; });
  EXPECT_TRUE(server.why.empty()) << "who has proved itself keeps its place: " << server.why;
  agent->send("still here");
  run_until([&] { return !server.messages.empty(); });
}

TEST_F(TlsTest, Dialing_a_closed_port_or_an_unknown_host_tells_the_address) {
  const std::uint16_t port = listener->port();
  listener.reset();
  const auto link =
      TlsDialer(loop, resolver, "127.0.0.1", port, "n1", [&] { return NodeFace{"n1", key}; }).dial(client);
  run_until([&] { return !client.why.empty(); });
  EXPECT_NE(client.why.find("127.0.0.1:" + std::to_string(port)), std::string::npos) << client.why;
  Recorder other(loop);
  const auto lost =
      TlsDialer(loop, resolver, "no-such-host.invalid", 1, "n1", [&] { return NodeFace{"n1", key}; }).dial(other);
  run_until([&] { return !other.why.empty(); });
  EXPECT_NE(other.why.find("no-such-host.invalid"), std::string::npos) << other.why;
}

// Bytes through two filters without sockets: what is on the wire, flipped anywhere, never arrives as something else.
TEST_F(TlsTest, Flipped_byte_on_the_wire_ends_the_session) {
  TlsServer tls([this](std::string_view node) { return std::optional{NodeProof{std::string{node}, key}}; });
  const auto right = tls.accept();
  const auto left = tls_client("n1", key);
  std::string plain;
  while (!right->established()) {
    ASSERT_TRUE(right->received(left->take_output(), plain));
    ASSERT_TRUE(left->received(right->take_output(), plain));
  }
  ASSERT_TRUE(left->established());
  ASSERT_TRUE(left->send("launch job 1"));
  std::string wire = left->take_output();
  EXPECT_EQ(wire.find("launch"), std::string::npos);
  wire.back() = static_cast<char>(wire.back() ^ 1);
  EXPECT_FALSE(right->received(wire, plain));
  EXPECT_TRUE(plain.empty());
}

// A server with a certificate and without the key: whoever sits between node and controller.
std::string handshake_with_a_certificate(StreamFilter& client) {
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> secret(::EVP_EC_gen("P-256"), &::EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> certificate(::X509_new(), &::X509_free);
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), -60);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), 3600);
  ::X509_set_pubkey(certificate.get(), secret.get());
  EXPECT_GT(::X509_sign(certificate.get(), secret.get(), ::EVP_sha256()), 0);
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(::SSL_CTX_new(::TLS_server_method()),
                                                                    &::SSL_CTX_free);
  EXPECT_EQ(::SSL_CTX_use_certificate(context.get(), certificate.get()), 1);
  EXPECT_EQ(::SSL_CTX_use_PrivateKey(context.get(), secret.get()), 1);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> server(::SSL_new(context.get()), &::SSL_free);
  BIO* in = ::BIO_new(::BIO_s_mem());
  BIO* out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(server.get(), in, out);
  ::SSL_set_accept_state(server.get());
  for (int turn = 0; turn < 5; ++turn) {
    const std::string hello = client.take_output();
    if (!hello.empty()) ::BIO_write(in, hello.data(), static_cast<int>(hello.size()));
    (void)::SSL_do_handshake(server.get());
    std::string answer(::BIO_ctrl_pending(out), '\0');
    if (!answer.empty()) ::BIO_read(out, answer.data(), static_cast<int>(answer.size()));
    std::string plain;
    const auto outcome = client.received(answer, plain);
    if (!outcome) return outcome.error().story;
    if (client.established()) return "established";
  }
  return "nothing";
}

TEST_F(TlsTest, Server_with_a_certificate_instead_of_the_key_is_refused) {
  const auto client_filter = tls_client("n1", key);
  const std::string story = handshake_with_a_certificate(*client_filter);
  EXPECT_NE(story.find("no encrypted session as node 'n1'"), std::string::npos) << story;
  EXPECT_FALSE(client_filter->established());
}

}  // namespace
}  // namespace millrace
