// src/wire/credential_test.cpp - signatures hold for what was signed and nothing else; key files are for their owner
// alone.
#include "wire/credential.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/constant_time.h"
#include "base/sha256.h"
#include "base/text.h"

namespace millrace {
namespace {

TEST(Credential, Signature_holds_for_the_signed_bytes_only) {
  const auto signer = CredentialSigner::from_cluster_key(std::string(32, 'k'));
  ASSERT_TRUE(signer);
  std::string bytes = "uid 1000 may run";
  std::string signature = signer->sign(bytes);
  EXPECT_TRUE(verify_credential(signer->verify_key(), bytes, signature));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(verify_credential(signer->verify_key(), other, signature)) << i;
  }
  EXPECT_FALSE(verify_credential(signer->verify_key(), bytes + "x", signature));
  EXPECT_FALSE(verify_credential(signer->verify_key(), bytes, signature.substr(1)));
  EXPECT_FALSE(verify_credential("", bytes, signature));
  const auto other = CredentialSigner::from_cluster_key(std::string(32, 'l'));
  EXPECT_FALSE(verify_credential(other->verify_key(), bytes, signature));
}

TEST(Credential, Digests_are_those_of_the_small_implementation) {
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text(size, static_cast<char>(size)), key(size / 2, 'k');
    ASSERT_EQ(sha256(text), sha256_of(text)) << size;
    ASSERT_EQ(hmac_sha256(key, text), hmac_sha256_of(key, text)) << size;
  }
}

TEST(Credential, Every_controller_of_a_cluster_signs_alike) {
  const auto one = CredentialSigner::from_cluster_key(std::string(32, 'k'));
  const auto two = CredentialSigner::from_cluster_key(std::string(32, 'k'));
  EXPECT_EQ(one->verify_key(), two->verify_key());
}

TEST(Credential, Digests_are_the_standard_ones) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_NE(derive_node_key("k", "n1"), derive_node_key("k", "n2"));
}

class KeyFiles : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-key-XXXXXX";
    root_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

TEST_F(KeyFiles, Cluster_key_is_made_once_and_read_back) {
  const std::string path = root_ + "/cluster.key";
  const auto made = make_cluster_key_file(path);
  ASSERT_TRUE(made);
  EXPECT_EQ(read_key_file(path)->key, *made);
  EXPECT_EQ(read_key_file(path)->node, "");
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(make_cluster_key_file(path));
  EXPECT_EQ(read_key_file(path)->key, *made);
}

TEST_F(KeyFiles, Key_that_others_can_read_is_refused) {
  const std::string path = root_ + "/cluster.key";
  ASSERT_TRUE(make_cluster_key_file(path));
  for (const mode_t mode : {0640, 0604, 0620, 0666}) {
    chmod(path.c_str(), mode);
    EXPECT_EQ(read_key_file(path).error().code, Errc::refused) << mode;
  }
}

TEST_F(KeyFiles, Node_key_names_its_node) {
  const std::string path = root_ + "/node.key";
  std::ofstream(path) << node_key_line("n7", derive_node_key("cluster", "n7"));
  chmod(path.c_str(), 0600);
  const auto read = read_key_file(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->node, "n7");
  EXPECT_EQ(read->key, derive_node_key("cluster", "n7"));
}

TEST_F(KeyFiles, A_name_that_is_revoked_has_other_keys_from_then_on) {
  const std::string path = root_ + "/cluster.key";
  const auto key = make_cluster_key_file(path);
  ASSERT_TRUE(key);
  const auto current = [&](const char* name) { return read_key_file(path)->current(name, KeyRole::node); };
  const std::string before = derive_key(*key, current("n1"));
  EXPECT_EQ(before, derive_node_key(*key, "n1"));
  EXPECT_EQ(*revoke_keys(path, "n1"), 1u);
  const std::string after = derive_key(*key, current("n1"));
  EXPECT_NE(after, before);
  EXPECT_EQ(*revoke_keys(path, "n1"), 2u);
  EXPECT_EQ(*revoke_keys(path, "n10"), 1u);
  EXPECT_NE(derive_key(*key, current("n1")), after);
  EXPECT_EQ(derive_key(*key, current("n2")), derive_node_key(*key, "n2"));
  EXPECT_EQ(read_key_file(path)->key, *key);
  EXPECT_EQ(read_key_file(path)->generations, (KeyGenerations{{"n1", {2}}, {"n10", {1}}}));
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(revoke_keys(root_ + "/none", "n1"));
  std::ofstream(path, std::ios::app) << "revoked n1 3\n";  // twice
  EXPECT_EQ(read_key_file(path).error().code, Errc::invalid);
}

TEST_F(KeyFiles, A_name_has_keys_of_one_role) {
  const std::string path = root_ + "/cluster.key";
  const auto key = make_cluster_key_file(path);
  ASSERT_TRUE(key);
  const auto number = [&](const char* name, KeyRole role) { return name_next_key(path, name, role)->generation; };
  EXPECT_EQ(number("n1", KeyRole::node), 0u);
  EXPECT_EQ(number("n1", KeyRole::login), 1u) << "what the compute node had is worthless";
  EXPECT_EQ(number("n1", KeyRole::login), 1u) << "the same key again";
  EXPECT_EQ(number("n1", KeyRole::login_root), 2u);
  EXPECT_EQ(number("n1", KeyRole::node), 3u) << "a login machine's key speaks for more than a node's";
  EXPECT_EQ(number("n1", KeyRole::node), 3u);
  EXPECT_EQ(number("n2", KeyRole::login), 1u);
  EXPECT_EQ(*revoke_keys(path, "n2"), 2u);
  EXPECT_EQ(number("n2", KeyRole::login), 3u) << "a node's may have been made since";
  EXPECT_EQ(read_key_file(path)->generations, (KeyGenerations{{"n1", {3}}, {"n2", {3, KeyRole::login}}}));
  EXPECT_EQ(name_next_key(path, "n2", KeyRole::login)->role, KeyRole::login);
  const std::string of_node = root_ + "/node.key";
  std::ofstream(of_node) << node_key_line("n7", derive_node_key("cluster", "n7"));
  chmod(of_node.c_str(), 0600);
  EXPECT_FALSE(name_next_key(of_node, "n7", KeyRole::node));
}

TEST(NodeKeys, What_a_key_file_says_of_generations_is_read_back) {
  const KeyGenerations all = {
      {"a", {1}}, {"b", {2, KeyRole::login}}, {"c", {3, KeyRole::login_root}}, {"login", {4, KeyRole::login}}};
  EXPECT_EQ(generation_lines(all), "revoked a 1\nrevoked b 2 login\nrevoked c 3 login-root\nrevoked login 4 login\n");
  EXPECT_EQ(parse_generation_lines(generation_lines(all)), all);
  for (const char* line : {"revoked a 1 node", "revoked a 1 munge", "revoked a 1 login:", "revoked a 1 ",
                           "revoked a 1 login login", "revoked a"})
    EXPECT_EQ(parse_generation_lines(line).has_value(), std::string_view{line} == "revoked a 1 ") << line;
}

TEST(NodeKeys, Each_role_and_generation_has_a_key_and_a_name_of_its_own) {
  std::set<std::string> keys, names;
  std::size_t made = 0;
  for (const char* node : {"n1", "n1.2", "login", "node"})
    for (const KeyRole role : {KeyRole::node, KeyRole::login, KeyRole::login_root})
      for (const std::uint32_t generation : {0u, 1u, 2u, 12u}) {
        const KeyName name{role, node, generation};
        EXPECT_EQ(parse_key_name(text_of(name)), name);
        keys.insert(derive_key("cluster", name));
        names.insert(text_of(name));
        ++made;
      }
  EXPECT_EQ(keys.size(), made);
  EXPECT_EQ(names.size(), made);
  EXPECT_EQ(text_of({KeyRole::login_root, "a", 3}), "login-root:a@3");
  for (const char* text : {"", "login:", "n1:", "root:n1", "n1@", "n1@0", "n1@x", "n1@1@2", "n 1", "n1\n",
                           "login:login:n1", "n1@99999999999"})
    EXPECT_FALSE(parse_key_name(text)) << text;
}

TEST_F(KeyFiles, Garbage_and_missing_files_are_told_apart) {
  EXPECT_EQ(read_key_file(root_ + "/none").error().code, Errc::not_found);
  for (const char* text : {"", "millrace-cluster-key 1", "millrace-cluster-key 1 zz", "millrace-cluster-key 2 00"}) {
    std::ofstream(root_ + "/bad") << text;
    chmod((root_ + "/bad").c_str(), 0600);
    EXPECT_EQ(read_key_file(root_ + "/bad").error().code, Errc::invalid) << text;
  }
}

}  // namespace
}  // namespace millrace
