// Result<T> and Status: how functions outside a hot path report failure. No exceptions, and usable
// inside a traced process: the message is a malloc'ed string made only when something went wrong.
//
//   Result<Model> model = load_model(path);
//   if (!model.ok()) return model.error();
#pragma once

#include <cstdarg>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

namespace wavetap {

// What went wrong, as `<object>: <what>; <what to do>`: lower case, no full stop, with the numbers.
struct Error {
  std::string message;
};

[[nodiscard]] inline Error errorf(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline Error errorf(const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return Error{text};
}

// A union rather than std::variant, whose machinery would be compiled again for each of some two hundred kinds of result.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : value_(std::move(value)), ok_(true) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  Result(Result&& other) noexcept : ok_(other.ok_) { take(other); }
  Result& operator=(Result&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    ok_ = other.ok_;
    take(other);
    return *this;
  }
  ~Result() { destroy(); }

  bool ok() const { return ok_; }
  const Error& error() const { return error_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  void take(Result& other) {
    if (ok_) new (static_cast<void*>(&value_)) T(std::move(other.value_));
    else new (static_cast<void*>(&error_)) Error(std::move(other.error_));
  }
  void destroy() {
    if (ok_) value_.~T();
    else error_.~Error();
  }

  union {
    T value_;
    Error error_;
  };
  bool ok_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Status(Error error) : error_(std::move(error)), ok_(false) {}
  bool ok() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace wavetap
