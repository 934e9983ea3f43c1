// Writes FOLDER/0.tape and on: tapes of random programs, with all that a tape can have or lack.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "replayer/symbols/symbol_file.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {
namespace {

std::vector<schema::Event> random_events(Random& random) {
  constexpr size_t kCounts[] = {0, 1, 3, 30, 300, 3'000, 12'000};
  const size_t count = kCounts[random.below(std::size(kCounts))];
  const uint64_t alignment = 8 << random.below(2);
  if (random.chance(3)) {
    return plausible_events(random, count, alignment, 1 + static_cast<uint32_t>(random.below(4)));
  }
  return eventful_events(random, count, alignment, random.chance(3));
}

schema::TapeSummary random_summary(Random& random) {
  schema::TapeSummary summary;
  if (random.chance(4)) summary.losses.lost_events = 1 + random.below(5'000);
  if (random.chance(6)) summary.losses.unrepaired_inversions = 1 + random.below(3);
  if (random.chance(6)) summary.losses.lost_ranges = 1 + random.below(3);
  summary.thread_list = {{1, "main"}, {2, "<i>worker</i>"}};
  return summary;
}

void write_random(const std::string& path, Random& random) {
  const std::vector<schema::Event> events = random_events(random);
  const auto writer = schema::TapeWriter::create(path, sample_header());
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  const bool has_stacks = random.chance(2);
  const bool has_times = random.chance(2);
  const bool has_samples = random.chance(2);
  if (has_stacks) add_sample_stacks(encoder);
  const uint64_t heap = sample_header().initial_break;
  uint64_t time_ns = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    encoder.append(events[i], has_stacks ? static_cast<schema::FrameNumber>(random.below(5)) : 0);
    if (!random.chance(50)) continue;
    time_ns += 1 + random.below(uint64_t{1} << random.below(30));
    if (has_times) encoder.add_time(time_ns);
    if (random.chance(40)) encoder.add_mark("m" + std::to_string(random.below(3)), time_ns);
    if (!has_samples) continue;
    const uint64_t end = heap + (1 + random.below(4000)) * 4096;
    encoder.add_sample({0, 0, random.below(1 << 20) * 4096, {{heap, end}}});
  }
  EXPECT_TRUE((*writer)->finish(random_summary(random)).ok());
  if (!has_stacks || random.chance(2)) return;
  const schema::TapeHeader header = sample_header();
  EXPECT_TRUE(replayer::write_symbols(path + ".symbols", sample_symbols(),
                                      {header.start_unix_ns, header.pid})
                  .ok());
}

}  // namespace
}  // namespace heaptape::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_random_tapes FOLDER COUNT SEED\n");
    return 2;
  }
  const std::string folder = argv[1];
  heaptape::tests::Random random(std::strtoull(argv[3], nullptr, 10));
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    heaptape::tests::write_random(folder + "/" + std::to_string(i) + ".tape", random);
  }
  return testing::Test::HasFailure() ? 1 : 0;
}
