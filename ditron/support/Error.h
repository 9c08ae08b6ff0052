// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The three kinds of error that ditron raises. Which one it is says whose turn it is:
//
//   CompileError   the program is wrong: the user mends the kernel or its arguments
//   RuntimeError   the machine refused, or a rank failed: retry, free memory, look at the peer
//   InternalError  ditron is wrong: report it
//
#pragma once
#include <source_location>
#include <stdexcept>
#include <string>

namespace ditron {

/// Root of every exception that leaves ditron.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The program or its arguments are wrong. The message says what, where and what was expected.
class CompileError : public Error {
public:
  using Error::Error;
  /// Prefixes the message with `file:line: `.
  CompileError(const std::string &message, std::source_location where);
};

/// The machine or another rank refused: memory, a killed process, a wait that outlived its bound.
class RuntimeError : public Error {
public:
  using Error::Error;
};

/// Wrong usage of a program of ditron's: an unknown option, kernel or value.
class UsageError : public Error {
public:
  using Error::Error;
};

/// The machine lacks what was asked for: a backend, a device, an engine.
class UnavailableError : public Error {
public:
  using Error::Error;
};

/// An invariant of ditron's own does not hold.
class InternalError : public Error {
public:
  explicit InternalError(const std::string &message,
                         std::source_location where = std::source_location::current());
};

/// `file:line` of a location, the file without its folders.
std::string describe(std::source_location where);

} // namespace ditron
