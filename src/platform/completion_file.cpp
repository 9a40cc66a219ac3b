// src/platform/completion_file.cpp - see completion_file.h.
#include "platform/completion_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"
#include "platform/descriptor.h"

namespace millrace {
namespace {

constexpr off_t tail_bytes = 4 << 20;
constexpr std::size_t known_max = 100'000;

std::string_view value_of(std::string_view line, std::string_view key) {
  std::size_t at = 0;
  while (!line.substr(at).starts_with(key)) {
    at = line.find(' ', at);
    if (at == std::string_view::npos) return {};
    ++at;
  }
  at += key.size();
  return line.substr(at, line.find(' ', at) - at);
}

std::string mark_of(std::string_view line) {
  std::string out;
  for (const std::string_view key : {"JobId=", "SubmitTime=", "EndTime="}) (out += value_of(line, key)) += ' ';
  return out;
}

Result<std::set<std::string>> read_tail(int file) {
  struct stat info{};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return std::set<std::string>{};
  const off_t from = info.st_size > tail_bytes ? info.st_size - tail_bytes : 0;
  std::string text(static_cast<std::size_t>(info.st_size - from), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), from);
  if (got < 0) return fail(Errc::io, std::strerror(errno));
  text.resize(static_cast<std::size_t>(got));
  return completion_marks(text);
}

}  // namespace

std::set<std::string> completion_marks(std::string_view lines) {
  std::set<std::string> out;
  for (const std::string_view line : split(lines, '\n'))
    if (!line.empty()) out.insert(mark_of(line));
  return out;
}

FreshCompletions fresh_completions(std::string_view lines, const std::set<std::string>& known) {
  FreshCompletions out;
  std::set<std::string> now;
  for (const std::string_view line : split(lines, '\n')) {
    if (line.empty()) continue;
    std::string mark = mark_of(line);
    if (known.contains(mark) || !now.insert(mark).second) continue;
    out.marks.push_back(std::move(mark));
    (out.lines += line) += '\n';
  }
  return out;
}

Result<void> append_completions(const std::string& path, const std::string& lines,
                                std::unique_ptr<std::set<std::string>>& known) {
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
  if (!file) return fail(Errc::io, path + ": " + std::strerror(errno));
  if (!known || known->size() > known_max) {
    MR_TRY(std::set<std::string> tail, in_context(read_tail(file.get()), path));
    known = std::make_unique<std::set<std::string>>(std::move(tail));
  }
  const auto [fresh, marks] = fresh_completions(lines, *known);
  const off_t before = lseek(file.get(), 0, SEEK_END);
  for (std::size_t done = 0; done < fresh.size();) {
    const ssize_t wrote = ::write(file.get(), fresh.data() + done, fresh.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      std::string why = std::strerror(errno);
      const bool half =
          before >= 0 && done > 0 && ::ftruncate(file.get(), before) != 0;  // half a line would be read as one
      if (half) why += "; a part of a line stays in it";
      return fail(Errc::io, path + ": " + why);
    }
    done += static_cast<std::size_t>(wrote);
  }
  known->insert(marks.begin(), marks.end());
  return {};
}

CompletionFile::CompletionFile(Loop& loop, std::function<void(const std::string&)> say)
    : loop_(loop), say_(std::move(say)), worker_(loop, "completions") {}

void CompletionFile::write(const std::string& path, std::string lines) {
  path_ = path;
  waiting_bytes_ += lines.size();
  waiting_.push_back(std::move(lines));
  while (waiting_bytes_ > waiting_max && waiting_.size() > 1) {
    say_(path_ + " cannot be written for too long: " + std::to_string(split(waiting_.front(), '\n').size()) +
         " records of ended jobs are given up");
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
  flush();
}

void CompletionFile::flush() {
  if (writing_ || waiting_.empty()) return;
  writing_ = true;
  struct Batch {
    std::string path, lines;
    Result<void> done{};
  };
  auto batch = std::make_shared<Batch>();
  batch->path = path_;
  for (const std::string& each : waiting_) batch->lines += each;
  const std::size_t count = waiting_.size();
  worker_.run(
      [batch] {
        thread_local std::unique_ptr<std::set<std::string>> known;
        thread_local std::string of;
        if (std::exchange(of, batch->path) != batch->path) known.reset();
        batch->done = append_completions(batch->path, batch->lines, known);
      },
      [this, batch, count] {
        writing_ = false;
        if (!batch->done) {
          if (!std::exchange(complained_, true)) say_("records of ended jobs wait: " + batch->done.error().story);
          loop_.after(seconds(retry_seconds), [this] { flush(); });
          return;
        }
        if (std::exchange(complained_, false)) say_(path_ + " can be written again; nothing of it is lost");
        for (std::size_t i = 0; i < count && !waiting_.empty(); ++i) {
          waiting_bytes_ -= waiting_.front().size();
          waiting_.pop_front();
        }
        flush();
      });
}

}  // namespace millrace
