// src/core/model/assign.cpp - see assign.h.
#include "core/model/assign.h"

#include <algorithm>
#include <bit>
#include <span>

namespace millrace {
namespace {

constexpr std::uint64_t low_bits(std::int64_t count) {
  return count <= 0 ? 0 : count >= 64 ? ~0ULL : (1ULL << count) - 1;
}

std::uint64_t lowest(std::uint64_t from, std::int64_t count) {
  std::uint64_t out = 0;
  for (; count > 0 && from != 0; --count) {
    out |= from & (~from + 1);
    from &= from - 1;
  }
  return out;
}

// ---- devices ----

class DeviceChoice {
 public:
  DeviceChoice(const JobSpec& spec, const NodeDef& node, const NodeUse& use, const Amounts& wanted)
      : spec_(spec), node_(node), use_(use), wanted_(wanted) {
    out_.gres = wanted.gres;
    in_parts_ = gpus_in_parts(use);
    whole_ = gpus_whole(use, node) | gpus_out_of_order(node);
  }

  bool choose() {
    for (const bool parts : {false, true})
      for (std::size_t slot = 0; slot < node_.kinds.size() && slot < gres_kinds_max; ++slot) {
        if (wanted_.gres[slot] <= 0 || is_part(node_.kinds[slot]) != parts) continue;
        if (!(parts ? choose_part(slot) : choose_whole(slot))) return false;
      }
    return true;
  }

  ShareDetail& detail() { return out_; }
  std::uint64_t near() const { return near_; }  // sockets of what was chosen; 0: any

 private:
  std::uint64_t sockets_near(const NodeGres& kind, std::size_t device) const {
    return device < kind.near.size() ? kind.near[device] : 0;
  }

  // Of the devices that are free, those near to a socket (or to none in particular).
  std::uint64_t near_socket(const NodeGres& kind, std::uint64_t free, std::uint32_t socket) const {
    std::uint64_t out = 0;
    for (std::uint64_t rest = free; rest != 0; rest &= rest - 1) {
      const auto device = static_cast<std::size_t>(std::countr_zero(rest));
      const std::uint64_t near = sockets_near(kind, device);
      if (near == 0 || (near >> socket & 1) != 0) out |= 1ULL << device;
    }
    return out;
  }

  // A part lies on one gpu: that of which the least stays free.
  bool choose_part(std::size_t slot) {
    const NodeGres& kind = node_.kinds[slot];
    std::int64_t best_left = INT64_MAX;
    std::size_t best = 0;
    for (std::size_t device = 0; device < kind.parts.size() && device < 64; ++device) {
      if ((whole_ >> device & 1) != 0) continue;
      std::int64_t left = kind.parts[device] - wanted_.gres[slot];
      bool other_kind = false;
      for (const PartUse& part : use_.parts) {
        if (part.device != device) continue;
        if (part.slot == slot)
          left -= part.count;
        else
          other_kind = true;  // mps and shard do not share a gpu
      }
      if (other_kind || left < 0 || left >= best_left) continue;
      best_left = left;
      best = device;
    }
    if (best_left == INT64_MAX) return false;
    out_.devices[slot] = 1ULL << best;
    for (std::size_t gpu = 0; gpu < node_.kinds.size() && gpu < gres_kinds_max; ++gpu) {
      if (node_.kinds[gpu].name != "gpu") continue;
      const std::uint32_t first = first_gpu_of(node_, gpu);
      if (best >= first && best < first + static_cast<std::uint64_t>(node_.kinds[gpu].count))
        near_ |= sockets_near(node_.kinds[gpu], best - first);
    }
    return true;
  }

  bool choose_whole(std::size_t slot) {
    const NodeGres& kind = node_.kinds[slot];
    if (kind.countable_only) return true;
    const std::int64_t count = wanted_.gres[slot];
    std::uint64_t free = low_bits(kind.count) & ~use_.devices[slot] & ~kind.out_of_order;
    const std::uint32_t first = kind.name == "gpu" ? first_gpu_of(node_, slot) : 64;
    if (first < 64) free &= ~(in_parts_ >> first);
    if (std::popcount(free) < count) return false;
    std::uint64_t chosen = kind.near.empty() ? lowest(free, count) : by_sockets(slot, free, count);
    if (std::popcount(chosen) < count) return false;
    if (!asks_by_socket(kind)) chosen = by_links(kind, free, count, chosen);
    out_.devices[slot] = chosen;
    if (first < 64) whole_ |= chosen << first;
    for (std::uint64_t rest = chosen; rest != 0; rest &= rest - 1)
      near_ |= sockets_near(kind, static_cast<std::size_t>(std::countr_zero(rest)));
    return true;
  }

  bool asks_by_socket(const NodeGres& kind) const {
    return std::ranges::any_of(spec_.resource_request().gres, [&](const GresAsk& ask) {
      return ask.scope == GresScope::socket && ask.name == kind.name;
    });
  }

  static std::int64_t links_within(const NodeGres& kind, std::uint64_t devices) {
    std::int64_t sum = 0;
    for (std::uint64_t rest = devices; rest != 0; rest &= rest - 1)
      sum += links_to(kind, std::countr_zero(rest), devices);
    return sum / 2;
  }
  static std::int64_t links_to(const NodeGres& kind, int device, std::uint64_t devices) {
    std::int64_t sum = 0;
    for (std::uint64_t rest = devices & ~(1ULL << device); rest != 0; rest &= rest - 1)
      sum += kind.links[static_cast<std::size_t>(device) * static_cast<std::size_t>(kind.count) +
                        static_cast<std::size_t>(std::countr_zero(rest))];
    return sum;
  }

  // Of those that are free, a group with as many links among each other as can be found by growing one from each
  // device; `otherwise` when none has more.
  static std::uint64_t by_links(const NodeGres& kind, std::uint64_t free, std::int64_t count, std::uint64_t otherwise) {
    if (count < 2 || kind.links.size() != static_cast<std::size_t>(kind.count) * static_cast<std::size_t>(kind.count))
      return otherwise;
    std::uint64_t best = otherwise;
    std::int64_t most = links_within(kind, otherwise);
    for (std::uint64_t seeds = free; seeds != 0; seeds &= seeds - 1) {
      std::uint64_t group = seeds & -seeds;
      while (std::popcount(group) < count) {
        std::int64_t nearest = -1;
        std::uint64_t next = 0;
        for (std::uint64_t rest = free & ~group; rest != 0; rest &= rest - 1) {
          const std::int64_t links = links_to(kind, std::countr_zero(rest), group);
          if (links > nearest) nearest = links, next = rest & -rest;
        }
        group |= next;
      }
      if (const std::int64_t links = links_within(kind, group); links > most) most = links, best = group;
    }
    return best;
  }

  std::uint64_t by_sockets(std::size_t slot, std::uint64_t free, std::int64_t count) {
    const NodeGres& kind = node_.kinds[slot];
    const std::uint32_t sockets = std::min(cpu_shape(node_).sockets, 64u);
    std::int64_t per_socket = 0;
    for (const GresAsk& ask : spec_.resource_request().gres)
      if (ask.scope == GresScope::socket && ask.name == kind.name && (ask.type.empty() || ask.type == kind.type))
        per_socket = ask.count;
    std::uint64_t chosen = 0, used_sockets = 0;
    while (std::popcount(chosen) < count) {
      const std::int64_t left =
          per_socket > 0 ? std::min(per_socket, count - std::popcount(chosen)) : count - std::popcount(chosen);
      const std::uint64_t open = free & ~chosen;
      std::uint32_t best = sockets;
      std::int64_t best_rank = INT64_MAX;
      for (std::uint32_t socket = 0; socket < sockets; ++socket) {
        const std::int64_t has = std::popcount(near_socket(kind, open, socket));
        if ((used_sockets >> socket & 1) != 0 || has == 0 || (per_socket > 0 && has < left)) continue;
        // Enough of them: the fewer the better. Not enough: as many as possible. Where other devices of the job are,
        // first.
        const std::int64_t rank = (has >= left ? has : 1000 - has) - (near_ >> socket & 1 ? 500 : 0);
        if (rank < best_rank) best_rank = rank, best = socket;
      }
      if (best == sockets) return chosen;
      used_sockets |= 1ULL << best;
      chosen |= lowest(near_socket(kind, open, best), left);
    }
    return chosen;
  }

  const JobSpec& spec_;
  const NodeDef& node_;
  const NodeUse& use_;
  const Amounts& wanted_;
  ShareDetail out_;
  std::uint64_t in_parts_ = 0, whole_ = 0, near_ = 0;
};

// ---- CPUs ----

class CpuChoice {
 public:
  CpuChoice(const JobSpec& spec, const NodeDef& node, const NodeUse& use, const FitRules& rules, std::uint64_t near,
            std::vector<std::uint64_t>& out)
      : spec_(spec),
        use_(use),
        withheld_(node.withheld_cpus),
        rules_(rules),
        shape_(cpu_shape(node)),
        cpus_(static_cast<std::uint32_t>(node.cpus.value)),
        usable_(node.usable_cpus().value),
        near_(near),
        out_(out) {
    const ResourceRequest& ask = spec.resource_request();
    whole_ = rules.whole_cores || rules.whole_sockets || ask.tasks_per_core > 0 ||
             (ask.threads_per_core > 0 && ask.threads_per_core < shape_.threads);
    if (ask.disable_binding) near_ = 0;
  }

  bool choose(std::int64_t wanted) {
    out_.assign((cpus_ + 63) / 64, 0);
    if (wanted >= usable_) return take_all();
    count_free();
    std::int64_t left = wanted;
    if (near_ != 0) left = from(near_, left);
    if (left > 0 && near_ != 0 && spec_.resource_request().enforce_binding) return false;
    if (left > 0) left = from(~0ULL, left);
    return left <= 0;
  }

 private:
  struct Socket {
    std::int64_t available = 0;  // to this job, in CPUs
    bool used = false;
  };

  bool take_all() {
    for (const std::uint64_t word : use_.cpus)
      if (word != 0) return false;
    for (std::uint32_t i = 0; i < cpus_; ++i) out_[i / 64] |= 1ULL << (i % 64);
    for (std::size_t i = 0; i < withheld_.size() && i < out_.size(); ++i) out_[i] &= ~withheld_[i];
    return true;
  }

  // The free threads of a core, lowest first.
  std::uint64_t free_threads(std::uint32_t core) const {
    const std::uint32_t first = core * shape_.threads, word = first / 64, shift = first % 64;
    const auto used = [&](std::uint32_t i) {
      return (i < use_.cpus.size() ? use_.cpus[i] : 0) | (i < withheld_.size() ? withheld_[i] : 0);
    };
    std::uint64_t bits = used(word) >> shift;
    if (shift != 0 && shift + shape_.threads > 64) bits |= used(word + 1) << (64 - shift);
    return ~bits & low_bits(shape_.threads);
  }

  bool is_whole(std::uint64_t threads) const { return threads == low_bits(shape_.threads); }

  void count_free() {
    sockets_.assign(shape_.sockets, {});
    const ResourceRequest& ask = spec_.resource_request();
    std::int64_t most = INT64_MAX;
    if (ask.tasks_per_socket > 0) {
      most = static_cast<std::int64_t>(ask.tasks_per_socket) * spec_.cpus_per_task;
      if (ask.threads_per_core > 0 && ask.threads_per_core < shape_.threads)
        most = most / ask.threads_per_core * shape_.threads;
      if (whole_) most = (most + shape_.threads - 1) / shape_.threads * shape_.threads;
    }
    for (std::uint32_t socket = 0; socket < shape_.sockets; ++socket) {
      std::int64_t here = 0;
      for (std::uint32_t core = socket * shape_.cores; core < (socket + 1) * shape_.cores; ++core) {
        const std::uint64_t threads = free_threads(core);
        here += whole_ ? (is_whole(threads) ? shape_.threads : 0) : std::popcount(threads);
      }
      if (rules_.whole_sockets && here < shape_.per_socket()) here = 0;
      sockets_[socket].available = std::min(here, most);
    }
  }

  // From these sockets; what could not be had there is returned.
  std::int64_t from(std::uint64_t allowed, std::int64_t left) {
    while (left > 0) {
      std::uint32_t best = shape_.sockets;
      bool best_holds = false;
      for (std::uint32_t i = 0; i < shape_.sockets; ++i) {
        const Socket& socket = sockets_[i];
        if (socket.used || socket.available == 0 || (i < 64 ? allowed >> i & 1 : allowed == ~0ULL) == 0) continue;
        const bool holds = socket.available >= left;
        const bool better = best == shape_.sockets || (holds != best_holds ? holds
                                                       : holds             ? socket.available < sockets_[best].available
                                                               : socket.available > sockets_[best].available);
        if (better) best = i, best_holds = holds;
      }
      if (best == shape_.sockets) return left;
      sockets_[best].used = true;
      left -= take(best, std::min(left, sockets_[best].available));
    }
    return left;
  }

  void give(std::uint32_t core, std::uint64_t threads) {
    for (; threads != 0; threads &= threads - 1) {
      const std::uint32_t cpu = core * shape_.threads + static_cast<std::uint32_t>(std::countr_zero(threads));
      out_[cpu / 64] |= 1ULL << (cpu % 64);
    }
  }

  // So many CPUs of a socket: whole cores first, the odd rest where a core is broken already.
  std::int64_t take(std::uint32_t socket, std::int64_t count) {
    const std::uint32_t first = socket * shape_.cores, end = first + shape_.cores;
    std::int64_t left = count;
    for (std::uint32_t core = first; core < end && left > 0; ++core) {
      const std::uint64_t threads = free_threads(core);
      if (!is_whole(threads) || (!whole_ && left < shape_.threads)) continue;
      give(core, threads);
      left -= shape_.threads;
    }
    for (const bool broken : {true, false})
      for (std::uint32_t core = first; core < end && left > 0 && !whole_; ++core) {
        std::uint64_t threads = free_threads(core);
        if (is_whole(threads) == broken || taken(core)) continue;
        threads = lowest(threads, left);
        give(core, threads);
        left -= std::popcount(threads);
      }
    return count - left;
  }

  bool taken(std::uint32_t core) const {
    const std::uint32_t cpu = core * shape_.threads;
    return (out_[cpu / 64] >> (cpu % 64) & 1) != 0;
  }

  const JobSpec& spec_;
  const NodeUse& use_;
  const std::vector<std::uint64_t>& withheld_;
  const FitRules& rules_;
  CpuShape shape_;
  std::uint32_t cpus_;
  std::int64_t usable_;
  std::uint64_t near_;
  bool whole_ = false;
  std::vector<Socket> sockets_;
  std::vector<std::uint64_t>& out_;
};

}  // namespace

std::optional<ShareDetail> assign(const JobSpec& spec, const NodeDef& node, const NodeUse& use, const Amounts& wanted,
                                  const FitRules& rules) {
  DeviceChoice devices(spec, node, use, wanted);
  if (!devices.choose()) return std::nullopt;
  CpuChoice cpus(spec, node, use, rules, devices.near(), devices.detail().cpus);
  if (!cpus.choose(wanted.cpus)) return std::nullopt;
  while (!devices.detail().cpus.empty() && devices.detail().cpus.back() == 0) devices.detail().cpus.pop_back();
  return std::move(devices.detail());
}

std::string format_bits(std::span<const std::uint64_t> words, std::uint32_t first) {
  std::string out;
  const auto has = [&](std::size_t at) { return at / 64 < words.size() && (words[at / 64] >> (at % 64) & 1) != 0; };
  for (std::size_t at = 0; at < words.size() * 64; ++at) {
    if (!has(at)) continue;
    std::size_t last = at;
    while (has(last + 1)) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(at + first);
    if (last > at) out += "-" + std::to_string(last + first);
    at = last;
  }
  return out;
}

}  // namespace millrace
