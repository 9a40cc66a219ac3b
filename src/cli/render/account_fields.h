// src/cli/render/account_fields.h - the columns of sacctmgr show and sshare: accounts, users, associations, QOS and
// shares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/render/field_table.h"
#include "client.pb.h"
#include "core/model/account.h"

namespace millrace {

// Everything the controller told, with names looked up.
struct AccountBook {
  explicit AccountBook(wire::Accounts from);
  wire::Accounts answer;
  std::map<std::uint32_t, const wire::AssociationView*> by_id;
  std::map<std::uint32_t, std::string> qos_names;
  std::vector<const wire::AssociationView*> in_tree_order;  // each account, its users, then the accounts below it
  std::map<std::uint32_t, std::uint32_t> depth;

  std::string qos_list(const google::protobuf::RepeatedField<std::uint32_t>& ids) const;
  // Of the nearest above that has any.
  std::string allowed_qos(const wire::Association& association) const;
  std::string default_qos(const wire::Association& association) const;
  std::string default_account(const std::string& user) const;
  const wire::AccountUser* find_user(const std::string& user) const;  // null: nothing is known besides the accounts
  std::string admin_level(const std::string& user) const;
  std::string coordinated_by(const std::string& user) const;  // the accounts, comma between several

 private:
  // This one or the first above it; null: none.
  const wire::Association* nearest(const wire::Association& from, bool (*has)(const wire::Association&)) const;
};

struct AssociationRow {
  const AccountBook* book = nullptr;
  const wire::AssociationView* view = nullptr;
  bool indent = false;  // account names by their depth
  const wire::Association& association() const { return view->association(); }
};

struct QosRow {
  const AccountBook* book = nullptr;
  const wire::Qos* qos = nullptr;
};

std::span<const Field<AssociationRow>> association_fields();
std::span<const Field<QosRow>> qos_fields();
std::span<const Field<AssociationRow>> share_fields();

extern const char* const account_columns;
extern const char* const user_columns;
extern const char* const user_wckey_columns;           // where workload keys are tracked
extern const char* const account_association_columns;  // of show account withassoc
extern const char* const user_association_columns;
extern const char* const association_columns;
extern const char* const qos_columns;
extern const char* const share_columns;
extern const char* const share_long_columns;
extern const char* const share_partition_columns;  // -m
extern const char* const share_long_partition_columns;

}  // namespace millrace
