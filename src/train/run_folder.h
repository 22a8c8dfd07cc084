/* run_folder.h -- the folder that a training writes to: whether it may, and has room.
 *
 * A run replaces the files that it writes.  In a new run's folder none of them may be
 * there: a model of other makers, or somebody's config.json, is not the run's to replace.
 * One is: the log of a run that was ended before its first save, which begins anew under
 * the same name.  A run that goes on needs its state there.
 *
 * It does not lock the folder (io_lock), and does not know whose a state is
 * (model/checkpoint.h).
 */
#ifndef RUN_FOLDER_H
#define RUN_FOLDER_H

#include "base/status.h"

/* VT_USAGE names the file that a new run would replace. */
VT_MUST_CHECK vt_status run_folder_new(const char *folder, vt_error *err);

/* VT_IO where nothing is there to go on with, with what to do instead. */
VT_MUST_CHECK vt_status run_folder_old(const char *folder, vt_error *err);

/* VT_IO where the folder, or one to be made, may not be written: before a text is read. */
VT_MUST_CHECK vt_status run_folder_writable(const char *folder, vt_error *err);

/* VT_IO where the disk has no room for the saves of so many parameters: the first; with
 * `again` also for one that lies beside it until it takes its place.  Says nothing of what
 * else may fill the disk meanwhile, and passes where the system does not tell. */
VT_MUST_CHECK vt_status run_folder_room(const char *folder, size_t parameters, bool again,
                                        vt_error *err);

/* Removes what a killed run left half-written. */
VT_MUST_CHECK vt_status run_folder_clean(const char *folder, vt_error *err);

#endif
