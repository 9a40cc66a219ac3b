// src/core/ledger/use.cpp - see use.h.
#include "core/ledger/use.h"

namespace millrace {
namespace {

constexpr Fixed one_over_ln2{406'082'553'034'800};  // 48 bits of fraction

// What a while does to usage: how much of the old stays, and how many undiminished seconds one unit of rate adds.
struct Passage {
  Fixed keep = Fixed::from_integer(1);
  Fixed seconds;
};

Passage passage(Time from, Time to, std::uint32_t half_life_seconds) {
  const std::int64_t micros = (to - from).value;
  if (micros <= 0) return {};
  Passage out;
  out.seconds = Fixed::from_ratio(micros, 1'000'000);
  if (half_life_seconds == 0) return out;
  const std::int64_t half_life = static_cast<std::int64_t>(half_life_seconds) * 1'000'000;
  out.keep = exp2(-Fixed::from_ratio(micros, half_life));
  // The integral of 2^(-t/H) over the while is H/ln2 (1 - keep). For a moment it is the moment itself, which is then
  // more exact.
  if (micros >= half_life >> 20)
    out.seconds =
        multiply(multiply(Fixed::from_integer(half_life_seconds), one_over_ln2), Fixed::from_integer(1) - out.keep);
  return out;
}

Fixed grown(Fixed old, std::int64_t rate_thousandths, const Passage& p) {
  return multiply(old, p.keep) + Fixed{multiply(p.seconds, Fixed::from_integer(rate_thousandths)).raw / 1000};
}

}  // namespace

Time period_start(Time now, std::uint32_t period_seconds) {
  const std::int64_t step = std::max<std::int64_t>(period_seconds, 1) * 1'000'000;
  return Time{now.value - now.value % step};
}

void settle(Use& use, Fade fade, Time at) {
  if (const Time start = period_start(at, fade.period_seconds); start >= use.as_of) {
    use.period_usage = usage_at(use, tres_billing, fade, start);
    use.period_at = start;
  }
  if (use.as_of.is_set() && at > use.as_of) {
    const Passage p = passage(use.as_of, at, fade.half_life_seconds);
    for (std::size_t i = 0; i < tres_max; ++i) use.usage[i] = grown(use.usage[i], use.rate[i], p);
    use.wall = grown(use.wall, static_cast<std::int64_t>(use.running) * 1000, p);
  }
  if (at > use.as_of) use.as_of = at;
}

Fixed usage_at(const Use& use, std::size_t slot, Fade fade, Time now) {
  if (!use.as_of.is_set() || now <= use.as_of) return use.usage[slot];
  return grown(use.usage[slot], use.rate[slot], passage(use.as_of, now, fade.half_life_seconds));
}

Fixed wall_at(const Use& use, Fade fade, Time now) {
  if (!use.as_of.is_set() || now <= use.as_of) return use.wall;
  return grown(use.wall, static_cast<std::int64_t>(use.running) * 1000,
               passage(use.as_of, now, fade.half_life_seconds));
}

Fixed usage_of_period(const Use& use, Fade fade, Time start) {
  if (use.as_of.is_set() && start < use.as_of && use.period_at == start) return use.period_usage;
  return usage_at(use, tres_billing, fade, start);
}

std::int64_t run_seconds_left(const Use& use, std::size_t slot, Time now) {
  const __int128 left = use.run_end[slot] - static_cast<__int128>(use.run_rate[slot]) * now.seconds();
  if (left <= 0) return 0;
  const __int128 whole = left / 1000;
  return whole > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(whole);
}

}  // namespace millrace
