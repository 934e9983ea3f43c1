#include "tests/e2e/minimal_root.h"

#include <filesystem>
#include <regex>

#include "base/check.h"
#include "tests/support/command.h"
#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

namespace fs = std::filesystem;

std::string libraries_of(const std::string& program) {
  const Ended listed = run_command({"ldd", program});
  HEAPTAPE_CHECK(listed.status == 0);
  return listed.out;
}

}  // namespace

MinimalRoot::MinimalRoot(Heaptape heaptape, const std::vector<std::string>& paths) {
  fs::create_directory(outer(kInnerTapes));
  for (const std::string& path : paths) {
    copy_program(path, "/bin/" + fs::path(path).filename().string());
  }
  if (heaptape == Heaptape::kNo) return;
  copy_program(heaptape_path(), kInnerHeaptape);
  const fs::path library = fs::path(heaptape_path()).parent_path().parent_path() / "lib/heaptape";
  for (const auto& entry : fs::directory_iterator(library)) {
    copy(entry.path(), "/opt/heaptape/lib/heaptape/" + entry.path().filename().string());
  }
}

void MinimalRoot::copy(const std::string& from, const std::string& inner) const {
  fs::create_directories(fs::path(outer(inner)).parent_path());
  fs::copy_file(from, outer(inner), fs::copy_options::skip_existing);
}

void MinimalRoot::copy_program(const std::string& program, const std::string& inner) const {
  copy(program, inner);
  const std::string libraries = libraries_of(program);
  const std::regex path("(/\\S+) \\(0x");
  for (std::sregex_iterator it(libraries.begin(), libraries.end(), path), end; it != end; ++it) {
    copy((*it)[1], (*it)[1]);
  }
}

std::vector<std::string> in_namespaces(const std::string& script) {
  return {"unshare", "-Urpfm", "sh", "-ec", script};
}

std::string no_namespaces() {
  const Ended tried = run_command(in_namespaces("mount -t tmpfs none /mnt"));
  return tried.status == 0 ? "" : "needs user, process and mount namespaces: " + tried.err;
}

}  // namespace heaptape::tests
