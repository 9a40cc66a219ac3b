// src/sim/gantt.cpp - see gantt.h.
#include "sim/gantt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace millrace {
namespace {

constexpr double width = 1200, left = 76, right = 16, top = 48, bottom = 46;
constexpr double plot_width = width - left - right;
constexpr std::size_t single_jobs_max = 4'000;
constexpr std::int64_t single_lanes_max = 512;

constexpr std::array colours = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                "#edc948", "#b07aa1", "#9c755f", "#86bcb6", "#ff9da7"};

struct Frame {
  std::int64_t first = 0, last = 1;  // seconds
  std::int64_t processors = 1;
  double height = 400;  // of the plot

  double x(std::int64_t second) const {
    return left + plot_width * static_cast<double>(second - first) / static_cast<double>(last - first);
  }
  double y(double processor) const { return top + height * processor / static_cast<double>(processors); }
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string words(double x, double y, std::string_view anchor, std::string_view text, int size = 12) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + std::string{anchor} +
         "\" font-size=\"" + std::to_string(size) + "\">" + escape(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, std::string_view stroke) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\" stroke=\"" + std::string{stroke} + "\"/>\n";
}

// Since the first submit: 90s, 25m, 6h, 3d, 3d 12h.
std::string duration_label(std::int64_t second) {
  if (second == 0) return "0";
  const std::int64_t days = second / 86'400, hours = second % 86'400 / 3'600, mins = second % 3'600 / 60;
  std::string out;
  if (days > 0) out += std::to_string(days) + "d ";
  if (hours > 0) out += std::to_string(hours) + "h ";
  if (mins > 0) out += std::to_string(mins) + "m ";
  if (second % 60 > 0) out += std::to_string(second % 60) + "s ";
  out.pop_back();
  return out;
}

// A round step that gives at most this many marks.
std::int64_t round_step(std::int64_t span, std::int64_t marks, std::span<const std::int64_t> steps) {
  for (const std::int64_t step : steps)
    if (span / step <= marks) return step;
  std::int64_t step = steps.back();
  while (span / step > marks) step *= 2;
  return step;
}

std::string draw_axes(const Frame& frame, const std::vector<GanttRow>& rows) {
  constexpr std::int64_t times[] = {1,      2,      5,       10,      30,      60,        120,
                                    300,    600,    1'800,   3'600,   7'200,   10'800,    21'600,
                                    43'200, 86'400, 172'800, 345'600, 864'000, 1'728'000, 4'320'000};
  constexpr std::int64_t tens[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1'000, 2'000, 5'000, 10'000},
                         twos[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1'024};
  std::string out;
  const double base = top + frame.height;
  const std::int64_t step = round_step(frame.last - frame.first, 9, times);
  for (std::int64_t at = 0; at <= frame.last - frame.first; at += step) {
    const double x = frame.x(frame.first + at);
    out += line(x, top, x, base + 5, "#d0d0d0") + words(x, base + 20, "middle", duration_label(at));
  }
  out += words(left + plot_width / 2, base + 38, "middle", "time since the first submit");
  if (rows.size() > 1) {
    const std::size_t every = std::max<std::size_t>((rows.size() + 39) / 40, 1);
    std::int64_t lane = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double y = frame.y(static_cast<double>(lane)),
                   middle = frame.y(static_cast<double>(lane) + static_cast<double>(rows[i].processors) / 2);
      out += line(left - 5, y, left + plot_width, y, "#d0d0d0");
      if (i % every == 0) out += words(left - 8, middle + 4, "end", rows[i].label);
      lane += rows[i].processors;
    }
  } else {
    const bool is_power = (frame.processors & (frame.processors - 1)) == 0;
    const std::int64_t mark = is_power ? round_step(frame.processors, 8, twos) : round_step(frame.processors, 8, tens);
    for (std::int64_t at = 0; at <= frame.processors; at += mark) {
      const double y =
          top + frame.height - frame.height * static_cast<double>(at) / static_cast<double>(frame.processors);
      out += line(left - 5, y, left + plot_width, y, "#d0d0d0") + words(left - 8, y + 4, "end", std::to_string(at));
    }
    const double middle = top + frame.height / 2;
    out += "<text transform=\"translate(16 " + number(middle) +
           ") rotate(-90)\" text-anchor=\"middle\" font-size=\"12\">processors</text>\n";
  }
  return out + "<rect x=\"" + number(left) + "\" y=\"" + number(top) + "\" width=\"" + number(plot_width) +
         "\" height=\"" + number(frame.height) + "\" fill=\"none\" stroke=\"#606060\"/>\n";
}

// One rectangle per run of neighbouring processors of a row.
std::string draw_job(const Frame& frame, std::size_t index, const ReplayedJob& job,
                     const std::vector<std::size_t>& lanes, const std::vector<std::size_t>& first_lanes) {
  const bool upwards = first_lanes.size() == 1;
  std::string out = std::string{"<g fill=\""} + colours[index % colours.size()] + "\"><title>job " +
                    std::to_string(index + 1) + ": " + std::to_string(job.processors) + " processors, waited " +
                    duration_label(job.start - job.submit) + ", ran " + duration_label(job.end - job.start) +
                    "</title>";
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t after = i + 1;
    while (after < lanes.size() && lanes[after] == lanes[after - 1] + 1 &&
           !std::ranges::binary_search(first_lanes, lanes[after]))
      ++after;
    const double from = static_cast<double>(lanes[i]), to = static_cast<double>(lanes[after - 1] + 1);
    const auto all = static_cast<double>(frame.processors);
    const double y = upwards ? frame.y(all - to) : frame.y(from);
    const double x = frame.x(job.start), wide = std::max(frame.x(job.end) - x, 0.6);
    out += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(wide) + "\" height=\"" +
           number(frame.y(to) - frame.y(from)) + (wide > 3 ? "\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>" : "\"/>");
    i = after;
  }
  return out + "</g>\n";
}

std::string draw_single_jobs(const Frame& frame, std::span<const ReplayedJob> jobs, const std::vector<GanttRow>& rows) {
  std::vector<std::size_t> first_lane;
  std::size_t lanes_in_all = 0;
  for (const GanttRow& row : rows) {
    first_lane.push_back(lanes_in_all);
    lanes_in_all += static_cast<std::size_t>(row.processors);
  }
  std::vector<std::size_t> by_start(jobs.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::stable_sort(by_start, {}, [&](std::size_t i) { return jobs[i].start; });
  std::vector<std::int64_t> free_from(lanes_in_all, INT64_MIN);
  std::string out;
  for (const std::size_t i : by_start) {
    const ReplayedJob& job = jobs[i];
    if (job.start < 0) continue;
    std::vector<std::size_t> lanes;
    const auto occupy = [&](std::size_t row, std::int64_t count) {
      const std::size_t end = first_lane[row] + static_cast<std::size_t>(rows[row].processors);
      for (std::size_t lane = first_lane[row]; lane < end && count > 0; ++lane) {
        if (free_from[lane] > job.start) continue;
        free_from[lane] = job.end;
        lanes.push_back(lane);
        --count;
      }
    };
    if (job.shares.empty()) occupy(0, job.processors);
    for (const auto& [node, cpus] : job.shares) occupy(node, cpus);
    std::ranges::sort(lanes);
    out += draw_job(frame, i, job, lanes, first_lane);
  }
  return out;
}

struct Band {
  std::string label;
  std::int64_t widest;
};

std::vector<Band> bands_of(std::int64_t processors) {
  std::vector<Band> bands = {{"1 processor", 1}, {"2 to 8", 8},         {"9 to 32", 32},
                             {"33 to 128", 128}, {"129 to 1024", 1024}, {"more", INT64_MAX}};
  while (bands.size() > 2 && bands[bands.size() - 2].widest >= processors) bands.pop_back();
  bands.back().widest = INT64_MAX;
  return bands;
}

// Mean busy processors per column of the picture, one band upon the other.
std::string draw_bands(const Frame& frame, std::span<const ReplayedJob> jobs) {
  constexpr std::size_t columns = 554;
  const std::vector<Band> bands = bands_of(frame.processors);
  std::vector<std::array<double, columns>> busy(bands.size());
  const double span = static_cast<double>(frame.last - frame.first) / columns;
  for (const ReplayedJob& job : jobs) {
    if (job.start < 0) continue;
    const auto band = static_cast<std::size_t>(
        std::ranges::find_if(bands, [&](const Band& b) { return job.processors <= b.widest; }) - bands.begin());
    const double from = static_cast<double>(job.start - frame.first) / span,
                 to = static_cast<double>(job.end - frame.first) / span;
    for (auto column = static_cast<std::size_t>(from); column < columns && static_cast<double>(column) < to; ++column) {
      const auto here = static_cast<double>(column);
      busy[band][column] += static_cast<double>(job.processors) * (std::min(to, here + 1) - std::max(from, here));
    }
  }
  std::string out;
  std::array<double, columns> below{};
  for (std::size_t band = 0; band < bands.size(); ++band) {
    std::string upper, lower;
    for (std::size_t column = 0; column < columns; ++column) {
      const double x = left + plot_width * static_cast<double>(column) / columns,
                   x_after = left + plot_width * static_cast<double>(column + 1) / columns;
      const auto y = [&](double value) {
        return number(top + frame.height - frame.height * value / static_cast<double>(frame.processors));
      };
      const double above = below[column] + busy[band][column];
      upper += number(x) + "," + y(above) + " " + number(x_after) + "," + y(above) + " ";
      lower = number(x_after) + "," + y(below[column]) + " " + number(x) + "," + y(below[column]) + " " + lower;
      below[column] = above;
    }
    out += std::string{"<polygon fill=\""} + colours[band] + "\" points=\"" + upper + lower + "\"/>\n";
    const double x = left + 170 * static_cast<double>(band);
    out += "<rect x=\"" + number(x) + "\" y=\"30\" width=\"12\" height=\"12\" fill=\"" + colours[band] + "\"/>\n" +
           words(x + 18, 40, "start",
                 (band == 0                  ? ""
                  : band + 1 == bands.size() ? "wider"
                                             : bands[band].label + " processors") +
                     std::string(band == 0 ? bands[0].label : ""));
  }
  return out;
}

}  // namespace

std::string gantt_svg(std::span<const ReplayedJob> jobs, const std::vector<GanttRow>& rows, const std::string& title) {
  Frame frame;
  frame.first = INT64_MAX;
  frame.last = INT64_MIN;
  for (const ReplayedJob& job : jobs) {
    frame.first = std::min(frame.first, job.submit);
    frame.last = std::max(frame.last, job.end);
  }
  if (jobs.empty()) frame.first = 0;
  frame.last = std::max(frame.last, frame.first + 1);
  frame.processors = 0;
  for (const GanttRow& row : rows) frame.processors += row.processors;
  const bool single = jobs.size() <= single_jobs_max && frame.processors <= single_lanes_max;
  if (single) frame.height = std::clamp(static_cast<double>(frame.processors) * 14, 160.0, 640.0);
  const double height = top + frame.height + bottom;
  const std::vector<GanttRow> one{{"", frame.processors}};
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
         "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
         "\" font-family=\"sans-serif\" fill=\"#202020\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
         words(left, 20, "start", title, 14) +
         (single ? draw_axes(frame, rows) + draw_single_jobs(frame, jobs, rows)
                 : draw_axes(frame, one) + draw_bands(frame, jobs)) +
         "</svg>\n";
}

}  // namespace millrace
