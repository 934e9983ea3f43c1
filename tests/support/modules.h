// Programs and libraries that exist on every machine that runs tests.
#pragma once

#include <string>
#include <vector>

namespace heaptape::tests {

// Paths of this program and the libraries it runs with, the program first.
std::vector<std::string> loaded_modules();
// The one whose file name begins with `name`; empty if there is none.
std::string loaded_module(const std::string& name);

// The C++ compiler proper behind "g++"; empty if the machine has none.
std::string compiler_proper();

}  // namespace heaptape::tests
