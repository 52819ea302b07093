#include <fmt/format.h>

#include <cmath>

#include "optimize/ledger.h"
#include "util/file.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::optimize {
namespace {

std::string html(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '<') made += "&lt;";
    else if (c == '>') made += "&gt;";
    else if (c == '&') made += "&amp;";
    else made += c;
  }
  return made;
}

// What the figures of a report are better by.
std::string objective_of(const Task& task) {
  if (task.timed.empty()) return task.objective;
  return task.timed == "hsa" ? "time, measured," : "time of the emulation, measured,";
}

// "0.81x, from 0.80x to 0.82x (95 %, 20 pairs)" of an attempt that was timed; else "".
std::string timed_text(const Attempt& attempt) {
  if (attempt.timed.is_null()) return "";
  const auto number = [&](const char* name) { return attempt.timed.value(name, 0.0); };
  return fmt::format(
      "timed on {} ({}'s time), taking turns: {}, {:.3g}x, from {:.3g}x to {:.3g}x "
      "(95 %, {:g} pairs){}",
      attempt.timed.value("gpu", "?"), attempt.timed.value("clock", "?"),
      attempt.timed.value("verdict", "?"), number("ratio"), number("low"), number("high"),
      number("pairs"),
      attempt.timed.contains("note") ? "; " + attempt.timed.value("note", "") : "");
}

double gain_of(const Ledger& ledger) {
  double gain = 1;
  for (const Attempt& attempt : ledger.attempts())
    if (attempt.accepted() && attempt.improvement > 0) gain *= attempt.improvement;
  return gain;
}

std::string figure(const std::map<std::string, double>& figures, const std::string& name) {
  const auto found = figures.find(name);
  if (found == figures.end()) return "";
  const double value = found->second;
  const bool is_count = value == std::floor(value) && std::abs(value) < 1e12;
  return is_count ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// What asking took; "" where nobody was asked.
std::string usage_text(const Ledger& ledger) {
  const Usage& usage = ledger.usage();
  std::string text;
  if (usage.requests != 0)
    text = fmt::format("asked {} ({}), {}{} tokens in and {} out{}",
                       usage.requests == 1 ? "once" : fmt::format("{} times", usage.requests),
                       usage.retries == 1 ? "1 retry" : fmt::format("{} retries", usage.retries),
                       usage.is_estimated ? "about " : "", util::group_digits(usage.prompt_tokens),
                       util::group_digits(usage.answer_tokens),
                       usage.cost > 0 ? fmt::format(", cost {:.4f}", usage.cost) : "");
  if (!ledger.stopped().empty())
    text += (text.empty() ? "stopped: " : "; stopped: ") + util::escape_control(ledger.stopped());
  return text;
}

// "": all attempts were made.
std::string unfinished_text(const Ledger& ledger) {
  if (ledger.is_finished()) return "";
  if (ledger.is_at_work()) return "not finished: it is at work";
  return "not finished: it was ended before its time; the same command with --resume goes on with it";
}

// Of the candidate's sources against those before it; "" where none was written.
std::string diff_of(const Ledger& ledger, const Attempt& attempt) {
  const auto bytes = util::read_file(ledger.folder_of(attempt.number) + "/candidate.diff");
  if (!bytes.ok()) return "";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// Where the kernel was chosen by its part of the critical path.
std::string ranking_text(const Task& task) {
  std::string text;
  for (const RankedKernel& one : task.ranking)
    text += fmt::format("{}{} {:.0f} %{}", text.empty() ? "critical path: " : ", ",
                        util::escape_control(one.kernel), one.critical_part * 100,
                        one.has_source ? "" : " (no source)");
  return text;
}

}  // namespace

std::string report_text(const Ledger& ledger) {
  const Task& task = ledger.task();
  size_t accepted = 0;
  util::Table table({{"ATTEMPT"},
                     {"VERDICT"},
                     {"BEFORE", util::Align::kRight},
                     {"AFTER", util::Align::kRight},
                     {"WHAT", util::Align::kLeft, true}});
  for (const Attempt& attempt : ledger.attempts()) {
    accepted += attempt.accepted() ? 1 : 0;
    std::string what = attempt.rationale;
    if (!attempt.accepted()) what += "; " + attempt.reason;
    else if (!attempt.timed.is_null()) what += "; " + timed_text(attempt);
    table.add({std::to_string(attempt.number),
               attempt.accepted() ? "accepted" : "refused: " + name_of(attempt.step),
               figure(attempt.before, task.objective), figure(attempt.after, task.objective),
               util::escape_control(what.substr(0, what.find('\n')))});
  }
  std::string text = fmt::format(
      "{} on {}: {} by {}, {}\n", util::escape_control(task.kernel), task.gpu,
      util::count_of(ledger.attempts().size(), "attempt"), util::escape_control(task.provider),
      accepted == 0 ? "none accepted"
                    : fmt::format("{} accepted; {} is {:.3g} times better", accepted,
                                  objective_of(task), gain_of(ledger)));
  if (const std::string open = unfinished_text(ledger); !open.empty()) text += open + "\n";
  if (const std::string ranking = ranking_text(task); !ranking.empty()) text += ranking + "\n";
  if (!table.empty()) text += table.text(0);
  if (const std::string usage = usage_text(ledger); !usage.empty()) text += usage + "\n";
  return text;
}

std::string report_html(const Ledger& ledger) {
  const Task& task = ledger.task();
  std::string page = fmt::format(
      "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>wavetap optimize: {0}</title>"
      "<style>body{{font:14px sans-serif;margin:2em;max-width:80em;color:#222;background:#fff}}"
      "td,th{{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}}"
      ".yes{{color:#070}}.no{{color:#a00}}</style>\n<h1>{0}</h1>\n"
      "<p>{1}, {2} ({3:.3g} times better), compared {4}, sanitized with {5}, built in: {6}.</p>\n",
      html(task.kernel), html(task.gpu), html(objective_of(task)), gain_of(ledger),
      html(task.tolerance), html(task.tools), html(task.sandbox));
  if (const std::string open = unfinished_text(ledger); !open.empty())
    page += "<p>" + html(open) + "</p>\n";
  if (const std::string usage = usage_text(ledger); !usage.empty())
    page += "<p>" + html(usage) + "</p>\n";
  if (const std::string ranking = ranking_text(task); !ranking.empty())
    page += "<p>" + html(ranking) + "</p>\n";
  for (const Attempt& attempt : ledger.attempts()) {
    page += fmt::format("<h2>Attempt {}: <span class=\"{}\">{}</span></h2><p>{}</p><p>{}</p>\n",
                        attempt.number, attempt.accepted() ? "yes" : "no",
                        attempt.accepted() ? "accepted" : "refused at " + name_of(attempt.step),
                        html(attempt.rationale), html(attempt.reason));
    if (const std::string times = timed_text(attempt); !times.empty())
      page += "<p>" + html(times) + "</p>\n";
    page += "<table><tr><th>figure</th><th>before</th><th>after</th></tr>";
    for (const auto& [name, value] : attempt.before)
      page += fmt::format("<tr><td>{}</td><td>{:.6g}</td><td>{}</td></tr>", html(name), value,
                          figure(attempt.after, name));
    page += "</table>\n<table><tr><th>input</th><th>result</th></tr>";
    for (const proof::Check& check : attempt.checks)
      page += fmt::format("<tr><td>{}</td><td>{}</td></tr>", html(check.name), html(check.result));
    page += fmt::format(
        "</table><details><summary>attempts/{:03}/candidate.diff</summary><pre>{}</pre></details>\n",
        attempt.number, html(diff_of(ledger, attempt)));
  }
  return page + "</html>\n";
}

}  // namespace wavetap::optimize
