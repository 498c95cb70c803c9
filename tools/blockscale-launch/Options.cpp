//===- Options.cpp - What blockscale-launch is asked for ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include <charconv>
#include <string_view>

using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale::launch {

const char *const kHelp =
    "OVERVIEW: Runs a function of a bundle on a GPU of this machine\n\n"
    "Bundles are what blockscale-compile --emit=bundle writes. This needs "
    "NVIDIA's driver and\nnothing else.\n\n"
    "  blockscale-launch q.bundle --entry=quantize --in x.npy --out q.npy "
    "--out s.npy\n\n"
    "Arrays are in storage form, as blockscale-run takes and gives them. Files "
    "are written\nwhen everything succeeded, or not at all.\n\n"
    "USAGE: blockscale-launch [options] <bundle>\n\n"
    "OPTIONS:\n"
    "  --device=<n>    GPU to run on (default 0)\n"
    "  --driver=<file> Library of the driver (default: $BLOCKSCALE_LIBCUDA, "
    "or libcuda.so.1)\n"
    "  --entry=<name>  Function to call (default: the only one)\n"
    "  --help          Print this\n"
    "  --in=<file>     One .npy file for each argument, in order\n"
    "  --list          Print what the bundle holds, without a GPU\n"
    "  --one-rank      Take amaxes over ranks as those of this rank, which is "
    "the only one\n"
    "  --out=<file>    One .npy file for each result, in order\n"
    "  --repeat=<n>    Calls to make (default 1)\n"
    "  --time          Print the device seconds of the fastest call and the "
    "median\n"
    "  --version       Print the version\n\n"
    "Exit status: 0 success, 1 an error in the bundle, the arguments or the "
    "run.\n";

namespace {

class Parser {
public:
  Parser(int argc, char **argv) : words(argv + 1, argv + argc) {}
  Result<Options> parse();

private:
  void fail(const std::string &message) {
    if (status.ok())
      status = Status::failure(message);
  }
  void parseOption(std::string_view word);
  void parseFlag(const std::string &name, bool hasValue);
  int toNumber(const std::string &name, const std::string &value, int least);

  std::vector<std::string> words;
  size_t position = 0;
  Options options;
  Status status = Status::success();
};

} // namespace

int Parser::toNumber(const std::string &name, const std::string &value,
                     int least) {
  int number = 0;
  const char *end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end || number < least)
    fail("expected --" + name + " to be a number from " +
         std::to_string(least) + " on, but got '" + value + "'");
  return number;
}

void Parser::parseFlag(const std::string &name, bool hasValue) {
  const std::pair<const char *, bool *> flags[] = {
      {"help", &options.help},
      {"list", &options.list},
      {"one-rank", &options.oneRank},
      {"time", &options.printTime},
      {"version", &options.version}};
  for (auto [flag, isSet] : flags) {
    if (name != flag)
      continue;
    if (hasValue)
      fail("expected --" + name + " to have no value");
    *isSet = true;
    return;
  }
  fail("unknown option --" + name + "; --help lists the options");
}

void Parser::parseOption(std::string_view word) {
  size_t equals = word.find('=');
  std::string name(word.substr(0, equals));
  bool hasValue = equals != std::string_view::npos;
  bool isList = name == "in" || name == "out";
  bool isNumber = name == "device" || name == "repeat";
  if (!isList && !isNumber && name != "entry" && name != "driver")
    return parseFlag(name, hasValue);
  if (!hasValue && position == words.size())
    return fail("expected a value after --" + name);
  std::string value =
      hasValue ? std::string(word.substr(equals + 1)) : words[position++];
  if (name == "in")
    options.inputs.push_back(value);
  else if (name == "out")
    options.outputs.push_back(value);
  else if (name == "entry")
    options.entry = value;
  else if (name == "driver")
    options.driver = value;
  else if (name == "device")
    options.device = toNumber(name, value, 0);
  else
    options.repeat = toNumber(name, value, 1);
}

Result<Options> Parser::parse() {
  while (position < words.size() && status.ok()) {
    std::string word = words[position++];
    if (word.size() > 2 && word.compare(0, 2, "--") == 0)
      parseOption(std::string_view(word).substr(2));
    else if (options.bundle.empty())
      options.bundle = word;
    else
      fail("expected one bundle, but got '" + options.bundle + "' and '" +
           word + "'");
  }
  bool isRun = !options.help && !options.version;
  if (isRun && options.bundle.empty())
    fail("expected a bundle; --help says how this is called");
  if (isRun && options.list &&
      (!options.inputs.empty() || !options.outputs.empty()))
    fail("expected --list without --in and --out");
  if (!status.ok())
    return status;
  return options;
}

Result<Options> parseOptions(int argc, char **argv) {
  return Parser(argc, argv).parse();
}

} // namespace blockscale::launch
