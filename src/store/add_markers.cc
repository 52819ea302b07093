#include "store/add_markers.h"

#include <algorithm>
#include <map>

#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

// The next free number of a table in one session, not below `least`.
Result<int64_t> next_id(Db& db, const char* table, int64_t session, int64_t least) {
  Result<Stmt> last =
      db.prepare(std::string("select max(id) from ") + table + " where id >= ?1 and id < ?2");
  if (!last.ok()) return last.error();
  last->bind(1, session << 32);
  last->bind(2, (session + 1) << 32);
  int64_t next = (session << 32) + least;
  if (last->step() && !last->is_null(0)) next = std::max(next, last->int64(0) + 1);
  return next;
}

// A text of the session's: the one that is there, or a new one.
Result<int64_t> string_id(Db& db, int64_t session, const std::string& text) {
  Result<Stmt> found =
      db.prepare("select id from rocpd_string where string = ?1 and id >= ?2 and id < ?3");
  if (!found.ok()) return found.error();
  found->bind(1, text);
  found->bind(2, session << 32);
  found->bind(3, (session + 1) << 32);
  if (found->step()) return found->int64(0);
  const Result<int64_t> id = next_id(db, "rocpd_string", session, 1);
  if (!id.ok()) return id.error();
  Result<Stmt> insert = db.prepare("insert into rocpd_string (id, string) values (?1, ?2)");
  if (!insert.ok()) return insert.error();
  insert->bind(1, *id);
  insert->bind(2, text);
  if (!insert->run()) return insert->status().error();
  return *id;
}

Status add_marker(Db& db, int64_t session, const AddedMarker& marker) {
  const Result<int64_t> name = string_id(db, session, kMarkerName);
  if (!name.ok()) return name.error();
  const Result<int64_t> category = string_id(db, session, marker.category);
  if (!category.ok()) return category.error();
  const Result<int64_t> text = next_id(db, "rocpd_ustring", session, 1);
  if (!text.ok()) return text.error();
  const Result<int64_t> id = next_id(db, "rocpd_api", session, kFirstMarkerId);
  if (!id.ok()) return id.error();
  Result<Stmt> say = db.prepare("insert into rocpd_ustring (id, string) values (?1, ?2)");
  if (!say.ok()) return say.error();
  say->bind(1, *text);
  say->bind(2, marker.text);
  if (!say->run()) return say->status();
  Result<Stmt> insert = db.prepare(
      "insert into rocpd_api (id, pid, tid, start, end, apiName_id, category_id, domain_id, args_id) "
      "values (?1, ?2, ?2, ?3, ?3, ?4, ?5, ?4, ?6)");
  if (!insert.ok()) return insert.error();
  insert->bind(1, *id);
  insert->bind(2, marker.pid);
  insert->bind(3, marker.time_ns);
  insert->bind(4, *name);
  insert->bind(5, *category);
  insert->bind(6, *text);
  if (!insert->run()) return insert->status();
  return {};
}

}  // namespace

Result<uint64_t> add_markers(const std::string& path, const std::vector<AddedMarker>& markers) {
  Result<Db> db = Db::open_read_write(path);
  if (!db.ok()) return db.error();
  std::map<int64_t, int64_t> sessions;  // by pid
  {
    Result<Stmt> processes = db->prepare("select pid, session from wavetap_process");
    if (!processes.ok()) return processes.error();
    while (processes->step()) sessions[processes->int64(0)] = processes->int64(1);
  }
  if (const Status began = db->exec("begin"); !began.ok()) return began.error();
  uint64_t added = 0;
  for (const AddedMarker& marker : markers) {
    const auto session = sessions.find(marker.pid);
    if (session == sessions.end()) continue;
    if (const Status status = add_marker(*db, session->second, marker); !status.ok())
      return status.error();
    ++added;
  }
  if (const Status ended = db->exec("commit"); !ended.ok()) return ended.error();
  return added;
}

}  // namespace wavetap::store
