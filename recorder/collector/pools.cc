#include "recorder/collector/pools.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

// Pools of programs, mapped at one time: they take 64 TiB of addresses.
constexpr uint32_t kMostOwned = 1u << 12;
// Nobody maps one that was handed out until its process has its answer, for which it waits
// kLongPatienceMs.
constexpr uint64_t kNewNs = 2 * kLongPatienceMs * base::kMillisecondNs;
// Between two attempts to free a pool that somebody maps.
constexpr uint64_t kShortestPauseNs = 100 * base::kMillisecondNs;
constexpr uint64_t kLongestPauseNs = 5000 * base::kMillisecondNs;

// Half of the descriptors are for tapes and the like.
bool leaves_descriptors(const base::Descriptor& file) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(file.get()) < limit.rlim_cur / 2;
}

bool addresses_are_unlimited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

base::Descriptor create_file(uint64_t bytes) {
  base::Descriptor file(memfd_create(kPoolName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || !leaves_descriptors(file)) return {};
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return {};
  return file;
}

}  // namespace

uint32_t Pool::count_claims() const {
  char bytes[sizeof(uint32_t)] = {};
  for (size_t done = 0; done < sizeof bytes;) {
    const auto offset = static_cast<off_t>(offsetof(PoolHeader, claims) + done);
    const ssize_t got = pread(file_.get(), bytes + done, sizeof bytes - done, offset);
    if (got > 0) done += static_cast<size_t>(got);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  return std::bit_cast<uint32_t>(bytes);
}

// From then on nobody can map it to write. EPERM: a process that had it has sealed it against
// seals, and loses what it may still write.
bool Pool::seal_if_unmapped() const {
  return fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE) == 0 || errno == EPERM;
}

bool Pool::is_sealed() const {
  const int seals = fcntl(file_.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

Pools::Pools(const SessionView& session, base::Descriptor file)
    : session_(session),
      common_(std::make_shared<Pool>()),
      may_make_(addresses_are_unlimited()),
      places_(kPoolPlaces) {
  common_->rings_ = session.rings();
  common_->file_ = std::move(file);
  common_->view_ = session;
  mapped_.emplace(0, common_.get());
  places_[0] = common_;
  first_ = make(session.rings());
}

// Null if there is none.
std::shared_ptr<Pool> Pools::make(uint32_t rings) const {
  if (!may_make_) return nullptr;
  base::Descriptor file = create_file(pool_bytes(rings));
  if (!file) return nullptr;
  auto pool = std::make_shared<Pool>();
  pool->rings_ = rings;
  pool->file_ = std::move(file);
  return pool;
}

std::shared_ptr<Pool> Pools::make_spare() const {
  return make(std::min(session_.rings(), kSpareRings));
}

// False: there are too many, or this is none.
bool Pools::hand_out(const std::shared_ptr<Pool>& pool, For whom, uint32_t pid) {
  if (pool == nullptr) return false;
  const std::scoped_lock lock(mutex_);
  if (out_ == kPoolPlaces - 1 || (whom == For::kProgram && owned_ == kMostOwned)) return false;
  while (places_[next_number_ % kPoolPlaces] != nullptr) ++next_number_;
  pool->number_ = next_number_++;
  pool->pid_ = pid;
  pool->is_spare_ = whom == For::kChild;
  pool->out_ns_ = base::monotonic_ns();
  places_[pool->number_ % kPoolPlaces] = pool;
  ++out_;
  if (whom == For::kProgram) ++owned_;
  return true;
}

std::shared_ptr<const Pool> Pools::make_own(uint32_t pid) {
  std::shared_ptr<Pool> pool = std::exchange(first_, nullptr);
  if (pool == nullptr) pool = make(session_.rings());
  return hand_out(pool, For::kProgram, pid) ? pool : common_;
}

std::vector<std::shared_ptr<const Pool>> Pools::make_spares(uint32_t count) {
  stock_size_ = std::min(count, kMostSpares);
  restock();
  std::vector<std::shared_ptr<const Pool>> spares;
  while (!stock_.empty() && spares.size() < stock_size_ && hand_out(stock_.back(), For::kChild)) {
    spares.push_back(std::move(stock_.back()));
    stock_.pop_back();
  }
  if (spares.empty() && count != 0) spares.push_back(common_);
  return spares;
}

void Pools::restock() {
  while (stock_.size() < stock_size_) {
    auto spare = make_spare();
    if (spare == nullptr) return;
    stock_.push_back(std::move(spare));
  }
}

void Pools::take_back(const Pool& pool) {
  const std::scoped_lock lock(mutex_);
  const auto& place = places_[pool.number_ % kPoolPlaces];
  if (place.get() == &pool) place->is_returned_ = true;
}

// Requires the mutex.
void Pools::release(Pool& pool) {
  --out_;
  if (!pool.is_spare_) --owned_;
  places_[pool.number_ % kPoolPlaces].reset();
}

void Pools::free_unmapped(uint64_t now_ns) {
  std::vector<std::shared_ptr<Pool>> candidates;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& pool : places_) {
      if (pool == nullptr || pool == common_ || pool->mapping_) continue;
      const bool may_be_awaited =
          pool->seen_claims_ == 0 && !pool->is_returned_ && now_ns < pool->out_ns_ + kNewNs;
      if (!may_be_awaited && now_ns >= pool->next_try_ns_) candidates.push_back(pool);
    }
  }
  for (const auto& pool : candidates) {
    const uint64_t begin_ns = base::monotonic_ns();
    if (pool->seal_if_unmapped()) {
      const std::scoped_lock lock(mutex_);
      // Somebody may have joined, and ended, since the collector looked. It will look again.
      const uint32_t claims = pool->count_claims();
      if (pool->mapping_ || claims != pool->seen_claims_) continue;
      if (pool->pid_ != 0 && claims == 0 && !pool->is_returned_) {
        never_joined_.fetch_add(1, std::memory_order_relaxed);
      }
      release(*pool);
    } else {
      pool->pause_ns_ = std::clamp(2 * pool->pause_ns_, kShortestPauseNs, kLongestPauseNs);
      pool->next_try_ns_ = now_ns + pool->pause_ns_;
    }
    if (base::monotonic_ns() - begin_ns > base::kMillisecondNs) return;
  }
}

std::vector<Pool*> Pools::take_claimed() {
  Lobby& lobby = session_.lobby();
  std::vector<uint32_t> places = std::exchange(unmapped_, {});
  const uint32_t lobby_claims = lobby.claims.load(std::memory_order_acquire);
  if (std::exchange(seen_claims_, lobby_claims) != lobby_claims) {
    for (uint32_t word = 0; word < kPoolPlaces / 64; ++word) {
      if (lobby.claimed_in[word].load(std::memory_order_relaxed) == 0) continue;
      for (uint64_t bits = lobby.claimed_in[word].exchange(0); bits != 0; bits &= bits - 1) {
        places.push_back(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  }
  map_claimed(places);
  std::vector<Pool*> claimed;
  for (const auto& [number, pool] : mapped_) {
    // Before it is looked through: what is claimed later is seen later.
    const uint32_t claims = pool->view_.header().claims.load(std::memory_order_acquire);
    if (std::exchange(pool->seen_claims_, claims) != claims) claimed.push_back(pool);
  }
  return claimed;
}

void Pools::give_back_rings() {
  for (const auto& [number, pool] : mapped_) {
    const SessionView& view = pool->view();
    const uint32_t rings = std::min(view.header().rings_taken.high_water.load(), view.rings());
    for (uint32_t ring = 0; ring < rings; ++ring) {
      madvise(view.words(ring), kRingBytes, MADV_REMOVE);
    }
  }
}

void Pools::look(uint32_t places) {
  std::vector<uint32_t> next;
  while (next.size() < places) next.push_back(next_look_++ % kPoolPlaces);
  map_claimed(next);
}

// Those in which something was claimed.
void Pools::map_claimed(const std::vector<uint32_t>& places) {
  if (places.empty()) return;
  const std::scoped_lock lock(mutex_);
  for (const uint32_t place : places) {
    Pool* const pool = places_[place].get();
    if (pool == nullptr || mapped_.contains(pool->number_)) continue;
    if (pool->count_claims() != pool->seen_claims_ && !map(*pool)) unmapped_.push_back(place);
  }
}

// Requires the mutex. A pool that is sealed, because nobody else maps it, can only be copied. A
// copy of another would lack what its process goes on to write.
bool Pools::map(Pool& pool) {
  const uint64_t bytes = pool_bytes(pool.rings_);
  const int file = pool.file_.get();
  auto mapping = pool.is_sealed() ? base::Mapping::copy(file, bytes, "")
                                  : base::Mapping::shared(file, bytes, "");
  if (!mapping.ok()) return false;
  pool.mapping_ = std::move(*mapping);
  pool.view_ = session_;
  pool.view_.set_pool({static_cast<char*>(pool.mapping_.data()), pool.number_, pool.rings_,
                       PoolView::Mapped::kWhole});
  mapped_.emplace(pool.number_, &pool);
  return true;
}

void Pools::leave(uint32_t number) {
  if (number == 0) return;
  Pool& pool = *mapped_.at(number);
  mapped_.erase(number);
  const std::scoped_lock lock(mutex_);
  pool.mapping_ = {};
}

}  // namespace heaptape::recorder
