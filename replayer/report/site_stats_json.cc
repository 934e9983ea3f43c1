#include <capnp/message.h>

#include "replayer/report/site_fields.h"
#include "replayer/report/site_stats.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"

namespace heaptape::replayer {

base::Result<std::string> sites_json(const schema::TapeReader& tape, const SiteTable& table,
                                     const Sites& sites) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot write the sites as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            auto stats = message.initRoot<schema::wire::SiteStats>();
                            stats.setVersion(schema::wire::REPORT_VERSION);
                            stats.setPath(tape.path());
                            stats.setEvents(tape.events());
                            stats.setPeakAt(table.peak_at);
                            set_site_totals(stats.initTotal(), table.total);
                            auto list = stats.initSites(static_cast<unsigned>(table.rows.size()));
                            for (unsigned i = 0; i < list.size(); ++i)
                              set_site(list[i], table.rows[i], sites);
                            return schema::json_text(stats.asReader());
                          });
}

}  // namespace heaptape::replayer
