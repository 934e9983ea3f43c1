#include "replayer/engine/foresight.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/descriptor.h"
#include "base/number_text.h"
#include "replayer/engine/planned_batch.h"

namespace heaptape::replayer {
namespace {

using allocators::Deaths;
using allocators::ReplayKind;
using base::Error;
using base::Result;
using base::Status;

std::string temporary_folder() {
  const char* const folder = getenv("TMPDIR");
  return folder != nullptr && *folder != 0 ? folder : "/var/tmp";
}

Error cannot_keep(uint64_t bytes, int error) {
  return {error == ENOSPC ? base::ErrorCode::kNoSpace : base::ErrorCode::kIo,
          "a model with foresight needs a temporary file of " + base::grouped(bytes) +
              " bytes in '" + temporary_folder() + "': " + strerror(error) +
              "; set TMPDIR to a directory with more space, or omit the model"};
}

// Calls visit(batch) for the first `events` calls, in batches.
template <typename Visit>
Status for_each_batch(schema::TapeReader& tape, uint64_t events, Visit visit) {
  SlotResolver resolver;
  schema::EventBatch read;
  ResolvedBatch batch;
  for (uint64_t done = 0; done < events; done += batch.ops.size()) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(read, std::min<uint64_t>(kBatchEvents, events - done)));
    if (read.events.empty()) break;  // the replay will say what is wrong with the tape
    HEAPTAPE_RETURN_IF_ERROR(resolver.resolve(read.events, done, batch));
    HEAPTAPE_RETURN_IF_ERROR(visit(batch));
  }
  return tape.seek(0);
}

}  // namespace

Result<DeathTimes> DeathTimes::create(uint64_t events) {
  DeathTimes deaths;
  const uint64_t bytes = events * sizeof(uint32_t);
  while (events >> deaths.tick_log2_ >= Deaths::kNever - 1) ++deaths.tick_log2_;
  if (bytes == 0) return deaths;
  std::string path = temporary_folder() + "/heaptape-XXXXXX";
  const base::Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file) return cannot_keep(bytes, errno);
  unlink(path.c_str());
  // Room that is there cannot run out later, when a write to the mapping would end the process.
  const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) return cannot_keep(bytes, error);
  HEAPTAPE_ASSIGN_OR_RETURN(deaths.file_, base::Mapping::shared(file.get(), bytes, path));
  return deaths;
}

void DeathTimes::note(const ResolvedBatch& batch) {
  auto* const ticks = static_cast<uint32_t*>(file_.data());
  births_.resize(std::max<size_t>(births_.size(), batch.slot_limit));
  for (size_t i = 0; i < batch.ops.size(); ++i) {
    const allocators::ReplayOp& op = batch.ops[i];
    if (op.kind == ReplayKind::kNothing || op.kind == ReplayKind::kFreeNull) continue;
    const uint64_t event = batch.first_event + i;
    if (op.kind == ReplayKind::kRealloc || op.kind == ReplayKind::kFree) {
      ticks[births_[op.slot]] = Deaths{{}, tick_log2_}.tick_at(event);
    }
    if (op.kind == ReplayKind::kFree) continue;
    ticks[event] = Deaths::kNever;
    births_[op.slot] = event;
  }
}

Deaths DeathTimes::for_batch(const ResolvedBatch& batch) const {
  if (!file_) return {};
  const auto* const ticks = static_cast<const uint32_t*>(file_.data());
  return {{ticks + batch.first_event, batch.ops.size()}, tick_log2_};
}

Result<DeathTimes> rehearse(schema::TapeReader& tape, uint64_t events,
                            std::span<const std::unique_ptr<ReplayRun>> runs) {
  std::vector<ReplayRun*> taking_part;
  for (const auto& run : runs) {
    if (run->has_foresight()) taking_part.push_back(run.get());
  }
  if (taking_part.empty()) return DeathTimes();
  HEAPTAPE_ASSIGN_OR_RETURN(DeathTimes deaths, DeathTimes::create(events));
  const auto note = [&](const ResolvedBatch& batch) -> Status {
    deaths.note(batch);
    return {};
  };
  const auto rehearse_runs = [&](ResolvedBatch& batch) -> Status {
    batch.deaths = deaths.for_batch(batch);
    for (ReplayRun* const run : taking_part) HEAPTAPE_RETURN_IF_ERROR(run->rehearse(batch));
    return {};
  };
  HEAPTAPE_RETURN_IF_ERROR(for_each_batch(tape, events, note));
  HEAPTAPE_RETURN_IF_ERROR(for_each_batch(tape, events, rehearse_runs));
  return deaths;
}

}  // namespace heaptape::replayer
