#include "base/elf_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/temp_dir.h"

namespace heaptape::base {
namespace {

ElfFile open_elf(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(file) << path;
  return ElfFile(std::move(file));
}

// A library that is not a program: that of the mathematical functions.
std::string library() {
  Dl_info info = {};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(static_cast<double (*)(double)>(std::lgamma)), &info),
            0);
  return info.dli_fname;
}

class ElfBytes : public testing::Test {
 protected:
  ElfFile write(const std::string& bytes) {
    tests::write_bytes(dir_.file("f"), bytes);
    return open_elf(dir_.file("f"));
  }
  tests::TempDir dir_;
  std::string library_ = tests::read_bytes(library());
};

TEST(ElfFile, HasWhatThisProcessRuns) {
  for (const std::string& path : {std::string("/proc/self/exe"), library()}) {
    const ElfFile elf = open_elf(path);
    EXPECT_TRUE(elf.is_elf()) << path;
    EXPECT_TRUE(elf.is_native()) << path;
    EXPECT_TRUE(elf.is_whole()) << path;
  }
}

TEST_F(ElfBytes, OfAnotherFileAreNotElf) {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"),
                                   std::string(2000, 'x'), library_.substr(0, 30)}) {
    EXPECT_FALSE(write(bytes).is_elf()) << bytes.size();
  }
}

TEST_F(ElfBytes, AreNotWholeWhereverTheyWereCut) {
  EXPECT_TRUE(write(library_).is_whole());
  for (const size_t bytes : {64, 300, 5000}) {  // behind the segments there is debug information
    const ElfFile elf = write(library_.substr(0, bytes));
    EXPECT_TRUE(elf.is_elf()) << bytes;
    EXPECT_FALSE(elf.is_whole()) << bytes;
  }
}

TEST_F(ElfBytes, OfAnotherMachineAreNotNative) {
  library_[18] = '\xb7';  // e_machine: AArch64
  EXPECT_FALSE(write(library_).is_native());
}

TEST_F(ElfBytes, OfAnObjectFileAreNoSharedObject) {
  EXPECT_TRUE(write(library_).is_shared_object());
  library_[16] = 1;  // e_type: ET_REL
  EXPECT_FALSE(write(library_).is_shared_object());
}

}  // namespace
}  // namespace heaptape::base
