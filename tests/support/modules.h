// Programs and libraries that every machine has on which tests run.
#pragma once

#include <string>
#include <vector>

namespace heaptape::tests {

// Paths of this program and of the libraries it runs with, the program first.
std::vector<std::string> loaded_modules();
// The one of them whose file name begins with `name`; empty if there is none.
std::string loaded_module(const std::string& name);

// The C++ compiler proper, for all that "g++" is; empty if the machine has none.
std::string compiler_proper();

}  // namespace heaptape::tests
