// src/sim/lublin.h - a made workload by the model of Lublin and Feitelson (JPDC 63, 2003): sizes, run times and
// arrivals as logs have them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/swf.h"

namespace millrace {

// The same for the same three numbers. The published parameters for a log without separate interactive jobs:
//   size      1 with probability 0.244; otherwise 2^u, u from two uniform parts (0.8 to log2(processors) - 2.5 with
//   probability 0.86,
//             then up to log2(processors)), rounded to a power of two with probability 0.576 of all jobs
//   run time  e^g, g from gamma(4.2, 0.94) with probability 0.78 - 0.0054 size, otherwise gamma(312, 0.03); at most
//   e^12 s arrivals  e^g s between two jobs at a mean hour, g from gamma(10.2303 * 1.0225, 0.4871), at most e^13; hours
//   weighted by the daily
//             cycle gamma(8.1737, 3.9631) over half hours
std::vector<SwfJob> lublin_jobs(std::size_t count, std::int64_t processors, std::uint64_t seed);
std::string lublin_swf(std::size_t count, std::int64_t processors, std::uint64_t seed);  // with a header

}  // namespace millrace
