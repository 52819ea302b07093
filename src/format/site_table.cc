#include "format/site_table.h"

#include <charconv>
#include <cstdio>

namespace wavetap::format {
namespace {

constexpr std::string_view kFirstLine = "wavetap-sites ";
constexpr uint32_t kMostSites = 1u << 20;
constexpr size_t kMostFrames = 64;
constexpr size_t kMostSuccessors = 1u << 16;

uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

bool is_known_version(std::string_view text) {
  uint32_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() &&
         version >= kOldestSiteTableVersion && version <= kSiteTableVersion;
}

// Names of files and functions may hold anything; a line holds no line ends.
std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c == '\n' || c == '\r' || c == '\0') c = ' ';
  return line;
}

class Names {
 public:
  explicit Names(char letter) : letter_(letter) {}
  uint32_t number(const std::string& name) {
    const auto [known, is_new] = numbers_.emplace(name, static_cast<uint32_t>(numbers_.size()));
    if (is_new) text_ += std::string(1, letter_) + " " + one_line(name) + "\n";
    return known->second;
  }
  const std::string& text() const { return text_; }

 private:
  char letter_;
  std::map<std::string, uint32_t> numbers_;
  std::string text_;
};

// Cuts words off a line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next(char end = ' ') {
    const size_t at = rest_.find(end);
    const std::string_view word = rest_.substr(0, at);
    rest_ = at == std::string_view::npos ? std::string_view() : rest_.substr(at + 1);
    return word;
  }
  bool number(uint32_t most, uint32_t* out, char end = ' ') {
    const std::string_view word = next(end);
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), *out);
    return error == std::errc() && last == word.data() + word.size() && *out <= most;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

class Reader {
 public:
  explicit Reader(std::map<std::string, SiteKernel>& kernels) : kernels_(kernels) {}

  // The lines of one table, without its first and last.
  bool read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (end == std::string_view::npos || end < 2 || text[1] != ' ') return false;
      if (!read_line(text[0], text.substr(2, end - 2))) return false;
      text.remove_prefix(end + 1);
    }
    return missing_ == 0;
  }

 private:
  bool read_line(char letter, std::string_view line) {
    Words words(line);
    switch (letter) {
      case 'f': files_.emplace_back(line); return true;
      case 'n': functions_.emplace_back(line); return true;
      case 'k': return begin_kernel(words);
      case 's': return add_site(words);
      case 'e': return add_edges(words);
      case 'u': {
        const std::string name(words.next());
        kernels_[name].unseen.emplace_back(words.rest());
        return true;
      }
      default: return false;
    }
  }
  bool begin_kernel(Words& words) {
    if (missing_ != 0) return false;
    const std::string name(words.next());
    uint32_t wave_size = 0;
    if (name.empty() || !words.number(kMostSites, &missing_) || !words.number(64, &wave_size))
      return false;
    kernel_ = &kernels_[name];
    // A template that several files have: the linker keeps one of equal ones.
    is_known_ = !kernel_->name.empty();
    if (is_known_ && kernel_->sites.size() != missing_) return false;
    kernel_->name = name;
    kernel_->wave_size = wave_size;
    return true;
  }
  bool add_site(Words& words) {
    if (kernel_ == nullptr || missing_ == 0) return false;
    --missing_;
    Site site;
    uint32_t kind = 0, space = 0, access = 0;
    if (!words.number(3, &kind) || !words.number(3, &space) || !words.number(3, &access) ||
        !words.number(UINT32_MAX, &site.bytes) || !words.number(kMostSites, &site.block))
      return false;
    site.kind = static_cast<SiteKind>(kind);
    site.space = static_cast<SiteSpace>(space);
    site.access = static_cast<SiteAccess>(access);
    site.type = words.next();
    while (!words.empty())
      if (site.frames.size() == kMostFrames || !add_frame(words, site)) return false;
    if (!is_known_) kernel_->sites.push_back(std::move(site));
    return site.block < kMostSites;
  }
  bool add_edges(Words& words) {
    uint32_t block = 0;
    if (kernel_ == nullptr || missing_ != 0 || !words.number(kMostSites, &block) ||
        block >= kernel_->sites.size())
      return false;
    Site& site = kernel_->sites[block];
    while (!words.empty()) {
      uint32_t successor = 0;
      if (!words.number(kMostSites, &successor) || successor >= kernel_->sites.size() ||
          site.successors.size() == kMostSuccessors)
        return false;
      if (!is_known_) site.successors.push_back(successor);
    }
    return true;
  }
  bool add_frame(Words& words, Site& site) {
    uint32_t function = 0, file = 0;
    SiteFrame frame;
    if (!words.number(kMostSites, &function, ':') || !words.number(kMostSites, &file, ':') ||
        !words.number(UINT32_MAX, &frame.line, ':') || !words.number(UINT32_MAX, &frame.column) ||
        function >= functions_.size() || file >= files_.size())
      return false;
    frame.function = functions_[function];
    frame.file = files_[file];
    site.frames.push_back(std::move(frame));
    return true;
  }

  std::map<std::string, SiteKernel>& kernels_;
  std::vector<std::string> files_, functions_;
  SiteKernel* kernel_ = nullptr;
  bool is_known_ = false;
  uint32_t missing_ = 0;  // sites of the kernel that are still to come
};

}  // namespace

std::string write_site_table(const std::vector<SiteKernel>& kernels) {
  Names files('f'), functions('n');
  std::string rows;
  for (const SiteKernel& kernel : kernels) {
    rows += "k " + one_line(kernel.name) + " " + std::to_string(kernel.sites.size()) + " " +
            std::to_string(kernel.wave_size) + "\n";
    for (const Site& site : kernel.sites) {
      std::string type = one_line(site.type);
      for (char& c : type)
        if (c == ' ') c = '_';
      char numbers[96];
      std::snprintf(numbers, sizeof numbers, "s %u %u %u %u %u ", static_cast<unsigned>(site.kind),
                    static_cast<unsigned>(site.space), static_cast<unsigned>(site.access),
                    site.bytes, site.block);
      rows += numbers + (type.empty() ? "-" : type);
      for (const SiteFrame& frame : site.frames) {
        std::snprintf(numbers, sizeof numbers, " %u:%u:%u:%u", functions.number(frame.function),
                      files.number(frame.file), frame.line, frame.column);
        rows += numbers;
      }
      rows += "\n";
    }
    for (size_t i = 0; i < kernel.sites.size(); ++i) {
      if (kernel.sites[i].successors.empty()) continue;
      rows += "e " + std::to_string(i);
      for (const uint32_t successor : kernel.sites[i].successors)
        rows += " " + std::to_string(successor);
      rows += "\n";
    }
    for (const std::string& unseen : kernel.unseen)
      rows += "u " + one_line(kernel.name) + " " + one_line(unseen) + "\n";
  }
  const std::string text = std::string(kFirstLine) + std::to_string(kSiteTableVersion) + "\n" +
                           files.text() + functions.text() + rows;
  char last[32];
  std::snprintf(last, sizeof last, "end %016llx\n",
                static_cast<unsigned long long>(checksum(text)));
  return text + last;
}

Result<std::map<std::string, SiteKernel>> read_site_tables(std::string_view section) {
  std::map<std::string, SiteKernel> kernels;
  while (!section.empty()) {
    if (section[0] == '\0') {  // between two tables
      section.remove_prefix(1);
      continue;
    }
    const size_t first_end = section.find('\n');
    if (!section.starts_with(kFirstLine) || first_end == std::string_view::npos)
      return errorf("its site table does not begin as one; compile it again");
    const std::string_view version =
        section.substr(kFirstLine.size(), first_end - kFirstLine.size());
    if (!is_known_version(version))
      return errorf(
          "its site table is of version %.*s, and this wavetap reads versions %u to %u; compile "
          "it again with the wavetap-hipcc that belongs to it",
          static_cast<int>(version.size() < 20 ? version.size() : 20), version.data(),
          kOldestSiteTableVersion, kSiteTableVersion);
    const size_t last = section.find("\nend ");
    const size_t end = last == std::string_view::npos ? last : section.find('\n', last + 5);
    if (end == std::string_view::npos) return errorf("its site table is cut off; compile it again");
    uint64_t stored = 0;
    const std::string_view digits = section.substr(last + 5, end - last - 5);
    std::from_chars(digits.data(), digits.data() + digits.size(), stored, 16);
    if (stored != checksum(section.substr(0, last + 1)))
      return errorf("its site table is damaged: the checksum does not fit; compile it again");
    if (!Reader(kernels).read(section.substr(first_end + 1, last - first_end)))
      return errorf("its site table is damaged; compile it again");
    section.remove_prefix(end + 1);
  }
  return kernels;
}

}  // namespace wavetap::format
