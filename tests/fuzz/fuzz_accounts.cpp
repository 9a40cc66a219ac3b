// tests/fuzz/fuzz_accounts.cpp - words of sacctmgr: one per line, as a change and as each setting; files it loads.
#include "base/text.h"
#include "cli/account_file.h"
#include "core/admission/account_settings.h"
#include "core/model/account_change.h"
#include "small_state.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(accounts) {
  static const State state = fuzz::small_state();
  const std::vector<std::string_view> words = split(input, '\n');
  fuzz::use(parse_account_change(words));
  for (const std::string_view word : words) {
    const AccountSetting setting = parse_account_setting(word);
    Association association;
    Qos qos;
    fuzz::use(set_association(state, setting, association));
    fuzz::use(set_qos(state, setting, qos));
    fuzz::use(parse_account_entity(word));
  }
}

FUZZ_TEXT(account_file) {
  for (const std::string_view line : split(input, '\n')) {
    const auto read = parse_account_line(line);
    if (!read || !*read) continue;
    for (const std::string& setting : (*read)->settings)
      fuzz::must(setting.contains('='), "a setting has a key and a value");
  }
}
