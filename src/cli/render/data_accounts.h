// src/cli/render/data_accounts.h - accounts, users, associations, QOS and shares as data trees with Slurm's names.
#pragma once

#include "cli/render/account_fields.h"
#include "cli/render/data_records.h"

namespace millrace {

Data qos_data(const QosRow& row);
Data association_data(const AssociationRow& row);
// One workload key of a user.
Data wckey_data(const AccountBook& book, const wire::AccountUser& user, const std::string& key);
Data account_data(const AssociationRow& row);  // of the association that is the account itself
Data user_data(const AccountBook& book, const std::string& user);
Data share_data(const AssociationRow& row);

std::vector<DataFieldText> qos_data_fields();
std::vector<DataFieldText> association_data_fields();

}  // namespace millrace
