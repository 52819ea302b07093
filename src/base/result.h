// Result<T> and Status: how functions outside a hot path report failure. No exceptions, and usable
// inside a traced process: the message is a malloc'ed string made only when something went wrong.
//
//   Result<Model> model = load_model(path);
//   if (!model.ok()) return model.error();
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>

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

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  const Error& error() const { return *std::get_if<1>(&state_); }
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

 private:
  std::variant<T, Error> state_;
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
