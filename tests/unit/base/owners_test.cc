// Owners of descriptors and mappings.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/mapping.h"

namespace heaptape::base {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

int open_null() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(Descriptor, ClosesWhatItHolds) {
  const int fd = open_null();
  {
    const Descriptor owner(fd);
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, GivesUpWhatIsMovedOut) {
  Descriptor owner(open_null());
  const int fd = owner.get();
  {
    const Descriptor other(std::move(owner));
    EXPECT_FALSE(owner);  // NOLINT(bugprone-use-after-move): it promises to be empty
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, ClosesItsOldOneWhenItGetsANewOne) {
  Descriptor owner(open_null());
  const int first = owner.get();
  owner = Descriptor(open_null());
  EXPECT_FALSE(is_open(first));
  EXPECT_TRUE(is_open(owner.get()));
}

TEST(Descriptor, ReleasesWithoutClosing) {
  Descriptor owner(open_null());
  Descriptor again(owner.release());
  EXPECT_TRUE(is_open(again.get()));
}

TEST(Descriptor, KeepsErrno) {
  Descriptor owner(open_null());
  close(owner.get());  // so that its own close fails
  errno = ENOENT;
  owner.reset();
  EXPECT_EQ(errno, ENOENT);
}

TEST(Mapping, IsSharedWithAllWhoMapTheFile) {
  const Descriptor memory(memfd_create("mapping_test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
  const auto first = Mapping::shared(memory.get(), 4096, "map");
  const auto second = Mapping::shared(memory.get(), 4096, "map");
  ASSERT_TRUE(first.ok() && second.ok());
  static_cast<char*>(first->data())[100] = 'x';
  EXPECT_EQ(static_cast<char*>(second->data())[100], 'x');
}

TEST(Mapping, SaysWhatCannotBeMapped) {
  const auto mapping = Mapping::shared(-1, 4096, "cannot map the session");
  ASSERT_FALSE(mapping.ok());
  EXPECT_TRUE(mapping.error().message.starts_with("cannot map the session: "));
}

TEST(Mapping, UnmapsItsMemory) {
  const Descriptor memory(memfd_create("mapping_test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
  void* data = nullptr;
  {
    const auto mapping = Mapping::shared(memory.get(), 4096, "map");
    ASSERT_TRUE(mapping.ok());
    data = mapping->data();
  }
  unsigned char resident = 0;
  EXPECT_NE(mincore(data, 4096, &resident), 0) << "still mapped";
}

}  // namespace
}  // namespace heaptape::base
