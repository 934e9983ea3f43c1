#include "base/elf_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  // 64: the header alone. The last bytes are those of the table of sections.
  for (const size_t bytes :
       {size_t{64}, size_t{100}, size_t{300}, size_t{5000}, library_.size() - 1}) {
    const ElfFile elf = write(library_.substr(0, bytes));
    EXPECT_TRUE(elf.is_elf()) << bytes;
    EXPECT_FALSE(elf.is_whole()) << bytes;
  }
}

TEST_F(ElfBytes, AreNotWholeWithoutTheirSegmentsEvenIfTheyNeedNoSections) {
  library_.replace(0x28, 8, 8, '\0');  // e_shoff
  library_.replace(0x3c, 4, 4, '\0');  // e_shnum, e_shstrndx
  EXPECT_TRUE(write(library_).is_whole());
  EXPECT_FALSE(write(library_.substr(0, 100)).is_whole());
}

TEST_F(ElfBytes, OfAnotherMachineAreNotNative) {
  library_[18] = '\xb7';  // e_machine: AArch64
  EXPECT_FALSE(write(library_).is_native());
}

TEST(ElfFile, SaysWhereItsSectionsAre) {
  const ElfFile elf = open_elf(library());
  const auto code = elf.section(".text");
  ASSERT_TRUE(code);
  const auto holds_code = [&code](const ElfSegment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_X) != 0 &&
           segment.address - segment.offset == code->address - code->offset &&
           code->offset >= segment.offset &&
           code->offset + code->bytes <= segment.offset + segment.file_bytes;
  };
  EXPECT_TRUE(std::ranges::any_of(elf.segments(), holds_code));
  EXPECT_FALSE(elf.section(".none"));
  EXPECT_FALSE(elf.section(".bss"));  // has no bytes in the file
}

TEST_F(ElfBytes, AreReadAsFarAsTheyGo) {
  const ElfFile elf = write(library_);
  const std::vector<uint8_t> head = elf.read(1, 3);
  EXPECT_EQ(std::string(head.begin(), head.end()), "ELF");
  EXPECT_EQ(elf.read(library_.size() - 2, 5).size(), 2u);
  EXPECT_TRUE(elf.read(library_.size(), 1).empty());
  EXPECT_TRUE(elf.read(~uint64_t{0}, ~uint64_t{0}).empty());
}

TEST_F(ElfBytes, CutInTheMiddleHaveNoSections) {
  const ElfFile elf = write(library_.substr(0, library_.size() / 2));
  EXPECT_FALSE(elf.segments().empty());
  EXPECT_FALSE(elf.section(".text"));
}

TEST_F(ElfBytes, OfAnObjectFileAreNoSharedObject) {
  EXPECT_TRUE(write(library_).is_shared_object());
  library_[16] = 1;  // e_type: ET_REL
  EXPECT_FALSE(write(library_).is_shared_object());
}

}  // namespace
}  // namespace heaptape::base
