#include "tests/support/traces.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include "schema/tape/tape_text.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {
namespace {

void add_filter(archive* writer, Packing packing) {
  switch (packing) {
    case Packing::kGzip:
      archive_write_add_filter_gzip(writer);
      break;
    case Packing::kZstd:
      archive_write_add_filter_zstd(writer);
      break;
    case Packing::kXz:
      archive_write_add_filter_xz(writer);
      break;
    case Packing::kBzip2:
      archive_write_add_filter_bzip2(writer);
      break;
    case Packing::kPlain:
    case Packing::kZip:
      break;
  }
}

}  // namespace

std::string packed(const std::string& content, Packing packing,
                   const std::vector<std::string>& names) {
  std::string bytes(content.size() + (size_t{1} << 20), '\0');
  size_t used = 0;
  archive* const writer = archive_write_new();
  add_filter(writer, packing);
  if (packing == Packing::kZip) {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_raw(writer);
  }
  archive_write_set_bytes_in_last_block(writer, 1);
  EXPECT_EQ(archive_write_open_memory(writer, bytes.data(), bytes.size(), &used), ARCHIVE_OK);
  for (const std::string& name : names) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    EXPECT_EQ(archive_write_header(writer, entry), ARCHIVE_OK);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(entry);
  }
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

base::Result<recorder::ImportResult> TraceImporter::try_import(const std::string& format,
                                                               const std::string& bytes) {
  const std::string trace = dir_.file("trace");
  write_bytes(trace, bytes);
  return recorder::import_trace({format, trace, tape()});
}

recorder::ImportResult TraceImporter::import(const std::string& format, const std::string& bytes) {
  auto result = try_import(format, bytes);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? *result : recorder::ImportResult();
}

std::string TraceImporter::calls() const {
  auto reader = schema::TapeReader::open(tape());
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  std::string text;
  for (const schema::Event& event : read_events(*reader)) {
    std::string line;
    schema::append_event(line, schema::TextFormat::kText, 0, event);
    text += line.substr(line.find('t'));
  }
  return text;
}

}  // namespace heaptape::tests
