// The moments of a tape, and how people ask for one. docs/metrics.md, "Moments".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/answers/moment.h"
#include "replayer/engine/moment_request.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Those of the calls `from` to `until`, by call: the peak of live bytes, the plateau if there is
// one, the exit, the end, and the marks: of several with one name the last, and of the first
// kMostMarks names. What is live before the first of these calls is where the peak begins. Reads
// the tape from its beginning, and leaves it there. `progress` as replay() has it.
//
// `process` gets the samples among these calls that have malloc's part, if it is not null. If
// there are more than kMostProcessSamples, evenly many in a row count as one: that with most
// memory.
inline constexpr size_t kMostMarks = 256;
inline constexpr size_t kMostProcessSamples = 512;
base::Result<std::vector<Moment>> find_moments(
    schema::TapeReader& tape, uint64_t until, const std::function<void(double)>& progress,
    std::vector<schema::ProcessSample>* process = nullptr, uint64_t from = 1);

// The moment that was asked for. Fails if the tape has none such. Reads no more than it has to, and
// leaves the tape at its beginning.
base::Result<Moment> find_moment(schema::TapeReader& tape, const MomentRequest& request,
                                 const std::function<void(double)>& progress);

}  // namespace heaptape::replayer
