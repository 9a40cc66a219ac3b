// tests/fuzz/fuzz_accounts.cpp - words of sacctmgr: one per line, as a change and as each setting.
#include "base/text.h"
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
