/* Barograph's recorder for C and C++: records sensor and control data without ever waiting for
 * the disk. Written by `cargo xtask tidy --bless` from crates/capi; do not edit. Link with
 * libbaro (pkg-config baro); examples/c has programs that compile.
 *
 * Calls return 0 or a positive count, or a negative code whose number is that of errno.
 * baro_last_error() then says what, where and what to do next; baro_strerror() names a code.
 * Only pushes that are refused (BARO_EAGAIN, BARO_EMSGSIZE, BARO_ESHUTDOWN, BARO_EPERM) leave the
 * text alone: a push does nothing that it need not. Each function says which codes it returns.
 * Where it says "or errno" it asks the operating system, whose refusal is returned as the negative
 * number of its errno: BARO_ENOENT, BARO_EACCES, BARO_ENOMEM, BARO_ENOSPC, BARO_EIO, or one
 * without a name here. Every function may return BARO_ENOTRECOVERABLE.
 *
 * Structures start with type_size: set it to sizeof the structure, in those that are filled by
 * the library too. Each has an initialiser that does: baro_status status = BARO_STATUS_INIT; all
 * zero but type_size means the defaults. A size below this version's is refused, one above is
 * accepted while the bytes that this version does not know are zero. Structures have neither
 * pointers nor padding, so they are the same on every machine.
 *
 * Threads: a recorder may be used by several at once. Each other handle by one at a time, and they
 * may change hands between calls. Only pushes, baro_producer_durable and baro_producer_report
 * never block, allocate, or enter the kernel. Closing a handle while another thread uses it is an
 * error that nothing can detect. Nothing may be called from a signal's handler but what never
 * blocks. In a forked child pushes are refused (from Linux 4.14 on), and no other call on a handle
 * of the parent's may be made. The library calls back only as baro_on_event says.
 *
 * Text is UTF-8 and ends with a zero byte. Times are nanoseconds since the Unix epoch. */


#ifndef BAROGRAPH_H
#define BAROGRAPH_H

#include <stddef.h>
#include <stdint.h>

/* The version of this interface. Before 1.0 a change of minor may break, later only one of major.
 * baro_version() has that of the library that runs. */
#define BARO_VERSION_MAJOR 0
#define BARO_VERSION_MINOR 1
#define BARO_VERSION_PATCH 0
#define BARO_VERSION_TEXT "0.1.0"

/* The version as a number, for comparisons: major * 65536 + minor * 256 + patch. */
#define BARO_VERSION \
    (BARO_VERSION_MAJOR * 65536 + BARO_VERSION_MINOR * 256 + BARO_VERSION_PATCH)

/* Whether it is this version or a later one: #if BARO_VERSION_AT_LEAST(0, 2, 0) */
#define BARO_VERSION_AT_LEAST(major, minor, patch) \
    (BARO_VERSION >= (major) * 65536 + (minor) * 256 + (patch))


/* A forked child may not do this: the handle belongs to its parent. */
#define BARO_EPERM (-1)

/* There is no such file, folder or name; for a folder: it holds no store. */
#define BARO_ENOENT (-2)

/* The device or the library failed; the text says where. */
#define BARO_EIO (-5)

/* A structure is larger than this library knows, and sets something in the part that it does
 * not. */
#define BARO_E2BIG (-7)

/* The ring is full: the record is lost, counted, and will be a gap in the log. */
#define BARO_EAGAIN (-11)

/* There is no memory. */
#define BARO_ENOMEM (-12)

/* A pin is refused, or the operating system does not permit it; the text says why. */
#define BARO_EACCES (-13)

/* Another process uses the store or the ring. */
#define BARO_EBUSY (-16)

/* There is a store, or a file of this name, already. */
#define BARO_EEXIST (-17)

/* A path leads to a file, and a store is a folder. */
#define BARO_ENOTDIR (-20)

/* An argument is null, of a wrong size, or outside its limits; the text says which. */
#define BARO_EINVAL (-22)

/* The device, the catalog, or a file that was reserved, is full. */
#define BARO_ENOSPC (-28)

/* The text does not fit into the buffer given. */
#define BARO_ERANGE (-34)

/* What was read is not what the format says: foreign, of another version, or damaged. */
#define BARO_EBADMSG (-74)

/* The record is larger than the ring takes: it is lost, counted, and will be a gap in the log. */
#define BARO_EMSGSIZE (-90)

/* Not in this version of the library. */
#define BARO_ENOTSUP (-95)

/* The recorder, or the pool of a file, is closed. */
#define BARO_ESHUTDOWN (-108)

/* The time is over, or another process has not answered in time. */
#define BARO_ETIMEDOUT (-110)

/* The library met a bug of its own and stopped what it was doing; close the handle. */
#define BARO_ENOTRECOVERABLE (-131)

/* Reuse the oldest segment when the log is full, instead of refusing new records. */
#define BARO_INIT_RECYCLE 1

/* Write two segments now; the recorder adds the others in the background, until the log has
 * log_bytes, or what may be used of it. */
#define BARO_INIT_GROW 2

/* Use the page cache even where direct I/O is possible. */
#define BARO_OPEN_BUFFERED 1

/* Rings are memory of this process: no other can attach, and they do not survive it. */
#define BARO_OPEN_RINGS_PRIVATE 2

/* The field cpu is meant. */
#define BARO_OPEN_CPU 4

/* Type of a series: 64-bit floating point. */
#define BARO_F64 1

/* Type of a series: 64-bit signed integer. */
#define BARO_I64 2

/* Type of a series: 0 or 1, pushed as an integer. */
#define BARO_BOOL 3

/* Type of a series: text. */
#define BARO_TEXT 4

/* Not a series but a channel of frames. */
#define BARO_CHANNEL 16

/* The writer makes progress. */
#define BARO_TROUBLE_NONE 0

/* Every segment holds data, and the store was made to stop then. */
#define BARO_TROUBLE_LOG_FULL 1

/* A write or sync failed; what was not durable is written again elsewhere. */
#define BARO_TROUBLE_DEVICE 2

/* The log is growing: every segment that is there holds data. */
#define BARO_TROUBLE_GROWING 3

/* Pins, or what is to be kept, hold every segment: new records are refused. */
#define BARO_TROUBLE_HELD 4

/* baro_pin_when: the value is above the limit. */
#define BARO_ABOVE 1

/* baro_pin_when: the value is at the limit or above. */
#define BARO_AT_LEAST 2

/* baro_pin_when: the value is below the limit. */
#define BARO_BELOW 3

/* baro_pin_when: the value is at the limit or below. */
#define BARO_AT_MOST 4

/* The recorder has not seen the pin yet. */
#define BARO_PIN_ASKED 1

/* The end of the pin's window is still to come. */
#define BARO_PIN_OPEN 2

/* Everything of the pin's window that was recorded is held. */
#define BARO_PIN_WHOLE 3

/* Less than the pin's window is held; the reason says what is missing. */
#define BARO_PIN_SHORT 4

/* The pin was not granted; the reason says why. */
#define BARO_PIN_REFUSED 5

/* A frame of a channel. */
#define BARO_KIND_FRAME 1

/* A batch of samples: see baro_sample_get. */
#define BARO_KIND_SAMPLES 2

/* Records that were lost: see baro_gap_get. */
#define BARO_KIND_GAP 3

/* The realtime clock was stepped: payload i64 before, i64 after, each minus boottime. */
#define BARO_KIND_CLOCK 4

/* A sample of a series of type BARO_TEXT: the payload is UTF-8, `channel` is the series. */
#define BARO_KIND_TEXT 7

/* Records were lost: `count` of them since the last such event, refused by a ring or given up,
 * or durable and not there any more. */
#define BARO_EVENT_LOST 1

/* Something goes wrong in the background, as baro_complaints tells it: the text is the sentence. */
#define BARO_EVENT_COMPLAINT 2

/* A pin is new or changed its state: `id`, and `state`, a BARO_PIN_...; the text is its name. */
#define BARO_EVENT_PIN 3

/* The writer is in trouble, or not any more: `state` is a BARO_TROUBLE_..., the text says it. */
#define BARO_EVENT_TROUBLE 4

/* Frames of a channel over an interval. For one thread at a time. */
typedef struct baro_frames baro_frames;

/* A plain file that is being written. For one thread at a time. */
typedef struct baro_plain_file baro_plain_file;

/* Files that are reserved and ready, in one folder. For one thread at a time. */
typedef struct baro_plain_pool baro_plain_pool;

/* Pushes records into one ring. For one thread at a time. */
typedef struct baro_producer baro_producer;

/* A store opened for reading. For one thread at a time. */
typedef struct baro_reader baro_reader;

/* A store that this process records into. May be used by several threads at once. */
typedef struct baro_recorder baro_recorder;

/* Samples of a series over an interval. For one thread at a time. */
typedef struct baro_samples baro_samples;

/* How a series or channel is declared. */
typedef struct baro_declare_options {
  uint32_t type_size; /* sizeof(baro_declare_options) */
  uint32_t value_type; /* BARO_F64 (also 0), BARO_I64, BARO_BOOL, BARO_TEXT or BARO_CHANNEL. */
} baro_declare_options;
#define BARO_DECLARE_OPTIONS_INIT {sizeof(baro_declare_options), 0}

/* Something that happened while recording: see baro_on_event. */
typedef struct baro_event {
  uint32_t type_size; /* sizeof(baro_event), as the library knows it. */
  uint32_t kind; /* BARO_EVENT_...; ignore kinds that you do not know. */
  uint64_t count; /* Records lost, else 0. */
  uint64_t id; /* A pin's id, else 0. */
  uint32_t state; /* BARO_PIN_... or BARO_TROUBLE_..., else 0. */
  uint32_t reserved; /* 0 */
} baro_event;
#define BARO_EVENT_INIT {sizeof(baro_event), 0, 0, 0, 0, 0}

/* Called with each event. `event` and `text`, which is never null, are valid until it returns. */
typedef void (*baro_event_callback)(void *user, const struct baro_event *event, const char *text);

/* A record that was read. */
typedef struct baro_record {
  uint32_t type_size; /* sizeof(baro_record) */
  uint32_t kind; /* BARO_KIND_...; ignore kinds that you do not know. */
  uint64_t session; /* Session that wrote it. */
  uint64_t producer; /* Who pushed it; 0 is the writer. */
  uint64_t sequence; /* Number among those of its producer. */
  int64_t time_ns; /* Time given by the producer. */
  uint64_t payload_bytes; /* Bytes of the payload. */
  uint32_t channel; /* Channel of a frame, else 0. */
  uint32_t reserved; /* 0 */
} baro_record;
#define BARO_RECORD_INIT {sizeof(baro_record), 0, 0, 0, 0, 0, 0, 0, 0}

/* What a reader has met so far. */
typedef struct baro_read_report {
  uint32_t type_size; /* sizeof(baro_read_report) */
  uint32_t series; /* Series and channels in the catalog. */
  uint64_t records; /* Records handed out. */
  uint64_t blocks; /* Blocks read. */
  uint64_t blocks_damaged; /* Blocks that were durable once and are damaged or missing. */
  uint64_t blocks_recycled; /* Blocks that a recorder reused before they were read. */
} baro_read_report;
#define BARO_READ_REPORT_INIT {sizeof(baro_read_report), 0, 0, 0, 0, 0}

/* How a store is made. */
typedef struct baro_init_options {
  uint32_t type_size; /* sizeof(baro_init_options) */
  uint32_t flags; /* BARO_INIT_... or 0. */
  uint64_t log_bytes; /* Bytes of the log, from 2 MiB on; 0: 1 GiB. */
} baro_init_options;
#define BARO_INIT_OPTIONS_INIT {sizeof(baro_init_options), 0, 0}

/* How a pin is asked for. */
typedef struct baro_pin_options {
  uint32_t type_size; /* sizeof(baro_pin_options) */
  uint32_t flags; /* 0 */
  uint64_t before_ns; /* How far the window reaches back; at most ten years. */
  uint64_t after_ns; /* How far it goes on; at most ten years. */
  char name[264]; /* What people call it, at most 256 bytes; may be empty. */
} baro_pin_options;
#define BARO_PIN_OPTIONS_INIT {sizeof(baro_pin_options), 0, 0, 0, {0}}

/* A pin as it stands. */
typedef struct baro_pin_info {
  uint32_t type_size; /* sizeof(baro_pin_info) */
  uint32_t state; /* BARO_PIN_... */
  uint64_t id; /* Its id: random, never 0. */
  int64_t from_ns; /* Earliest time of a record in its window. */
  int64_t to_ns; /* First time behind its window. */
  int64_t moment_ns; /* The moment that it is about. */
  char name[264]; /* Its name; empty if it has none. */
  char reason[1032]; /* Why less than the window is held; else empty. */
} baro_pin_info;
#define BARO_PIN_INFO_INIT {sizeof(baro_pin_info), 0, 0, 0, 0, 0, {0}, {0}}

/* How a pool of plain files is made. */
typedef struct baro_plain_options {
  uint32_t type_size; /* sizeof(baro_plain_options) */
  uint32_t ready; /* Files that are kept ready, at most 64; 0: 2. */
  /* Bytes reserved for each file, at most 16 TiB; 0: 100 MB. What is not written is given back. */
  uint64_t file_bytes;
  uint64_t unit_bytes; /* Bytes that are handed to the disk at once, 4 KiB to 1 GiB; 0: 2 MiB. */
} baro_plain_options;
#define BARO_PLAIN_OPTIONS_INIT {sizeof(baro_plain_options), 0, 0, 0}

/* A ring's counters at one moment. */
typedef struct baro_ring_report {
  uint32_t type_size; /* sizeof(baro_ring_report) */
  uint32_t closed; /* 1 if the writer has closed the ring. */
  uint64_t producer; /* Random id of the ring's producer. */
  uint64_t offered; /* Sequences handed out: records pushed and refused. */
  uint64_t refused_full; /* Refused because the ring was full. */
  uint64_t refused_large; /* Refused because they were too large. */
  uint64_t written; /* Every sequence below is written or a logged gap. */
  uint64_t durable; /* Every sequence below is durable or a logged gap. */
  uint64_t used_bytes; /* Bytes in the ring that are not durable yet. */
  uint64_t capacity_bytes; /* Bytes of the ring. */
  uint64_t record_bytes_max; /* Largest payload of a record. */
} baro_ring_report;
#define BARO_RING_REPORT_INIT {sizeof(baro_ring_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* The value of a sample, as the type of its series says: 64 bits. */
typedef union baro_value {
  double value; /* Of a series of type BARO_F64. */
  int64_t integer; /* Of a series of type BARO_I64 or, 0 or 1, BARO_BOOL. */
} baro_value;

/* A declared series or channel. */
typedef struct baro_series {
  uint32_t type_size; /* sizeof(baro_series) */
  uint32_t id; /* Its id. */
  uint32_t value_type; /* BARO_F64, BARO_I64, BARO_BOOL, BARO_TEXT or BARO_CHANNEL. */
  uint32_t reserved; /* 0 */
} baro_series;
#define BARO_SERIES_INIT {sizeof(baro_series), 0, 0, 0}

/* How a store is opened for recording. */
typedef struct baro_open_options {
  uint32_t type_size; /* sizeof(baro_open_options) */
  uint32_t flags; /* BARO_OPEN_... or 0. */
  /* Longest time from push to durable that the writer aims at; 0: 100 ms. */
  uint64_t durable_within_ns;
  /* Bytes of each ring: covers input rate x longest stall of the device; 0: 16 MiB. */
  uint64_t ring_bytes;
  /* Largest payload of a record, at most a quarter of the ring; 0: 256 KiB. */
  uint64_t record_bytes_max;
  /* Largest block, of which the writer has nine; holds the largest record; 0: 256 KiB. Above 100
   * MB/s 1 MiB is better. */
  uint64_t block_bytes;
  /* Use at most so many bytes of a log that recycles, at least two segments; then the oldest
   * segment is reused although the log could be larger; 0: all. */
  uint64_t keep_bytes;
  /* Recycle nothing younger, in nanoseconds while the machine runs. If the log is full of
   * younger data, new records are refused and counted (BARO_TROUBLE_HELD); 0: no limit. */
  uint64_t keep_ns;
  /* The log grows only as long as its file system has so many bytes free. */
  uint64_t min_free_bytes;
  uint32_t cpu; /* Processor of the writer's threads, with BARO_OPEN_CPU. */
  /* SCHED_FIFO priority of the writer's threads, 1 to 99, used if granted; 0: none. */
  uint32_t fifo;
  /* Folder of the rings, which must be a tmpfs; empty: the first of RUNTIME_DIRECTORY,
   * /run/barograph-root (root), XDG_RUNTIME_DIR, /dev/shm that is one and in which nobody else
   * can have put anything. */
  char ring_folder[256];
} baro_open_options;
#define BARO_OPEN_OPTIONS_INIT {sizeof(baro_open_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* The writer's counters since the store was opened. */
typedef struct baro_status {
  uint32_t type_size; /* sizeof(baro_status) */
  uint32_t trouble; /* BARO_TROUBLE_...: why there is no progress. */
  uint64_t session; /* Session of this open. */
  uint64_t blocks; /* Blocks handed to the device. */
  uint64_t durable_blocks; /* Those of them that are durable. */
  /* Bytes handed to the device, with padding, headers, and what was repeated. */
  uint64_t device_bytes;
  uint64_t padding_bytes; /* Bytes of padding in them. */
  uint64_t payload_bytes; /* Payload bytes of records in blocks, what was repeated counted once. */
  uint64_t records; /* Records in blocks. */
  uint64_t lost; /* Records lost and logged as gaps. */
  uint64_t syncs; /* Syncs completed. */
  uint64_t failures; /* Failed writes and syncs. */
  uint64_t longest_write_ns; /* Longest write. */
  uint64_t longest_sync_ns; /* Longest sync. */
  /* Longest time from taking a record into a block to its being durable. */
  uint64_t longest_durable_ns;
  /* Bytes of the recorder's memory with its rings, fixed at open but for further rings. */
  uint64_t memory_bytes;
  /* Records that are still in rings: not durable yet, or (after baro_close) left in ring files
   * for the next open. */
  uint64_t left;
  uint32_t segments_started; /* Segments started. */
  uint32_t segments_suspect; /* Segments that had a failed write or sync. */
  uint32_t rings; /* Rings that are read. */
  /* Rings whose positions were impossible; nothing more is read from them. */
  uint32_t rings_broken;
  uint32_t segments_grown; /* Segments that are there. */
  /* Segments that are to be there. What keeps the log from growing is told by baro_complaints. */
  uint32_t segments_target;
} baro_status;
#define BARO_STATUS_INIT {sizeof(baro_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    0, 0, 0, 0, 0}

/* One sample of a batch. */
typedef struct baro_sample {
  uint32_t type_size; /* sizeof(baro_sample) */
  uint32_t series; /* Id of the series. */
  int64_t time_ns; /* Its time. */
  double value; /* The value of a series of type BARO_F64. */
  int64_t integer; /* The value of a series of any other type: the same bits. */
} baro_sample;
#define BARO_SAMPLE_INIT {sizeof(baro_sample), 0, 0, 0, 0}

/* Records lost, by cause. */
typedef struct baro_gap {
  uint32_t type_size; /* sizeof(baro_gap) */
  uint32_t reserved; /* 0 */
  uint64_t ring_full; /* Refused because the ring was full. */
  uint64_t too_large; /* Refused because they were larger than the ring takes. */
  uint64_t damaged; /* Discarded by the writer because the ring's contents were not valid. */
  uint64_t unknown; /* Missing without a cause that was counted. */
} baro_gap;
#define BARO_GAP_INIT {sizeof(baro_gap), 0, 0, 0, 0, 0}

#ifdef __cplusplus
extern "C" {
#endif  /* __cplusplus */

/* The id of the series or channel `name` of an attached producer: baro_declare, asked of the
 * recorder in the other process and durable when this returns. Blocks for at most `timeout_ns`:
 * declare before recording, not in the thread that must not wait. BARO_ETIMEDOUT: not answered;
 * it may be declared. BARO_ESHUTDOWN: nobody records. BARO_EACCES: refused, with the recorder's
 * reason.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EACCES, BARO_ESHUTDOWN, BARO_ETIMEDOUT, or errno. */
int32_t baro_producer_declare(struct baro_producer *producer,
                              const char *name,
                              const char *unit,
                              const char *layout,
                              const struct baro_declare_options *options,
                              uint64_t timeout_ns,
                              uint32_t *id);

/* Ids of `count` series or channels of an attached producer: baro_declare_many, asked of the
 * recorder in the other process, which waits for its device once. Otherwise as
 * baro_producer_declare. On an error that is the first one's; others may be declared, and have
 * their ids the next time.
 * Returns 0, BARO_EINVAL, BARO_EACCES, BARO_ESHUTDOWN, BARO_ETIMEDOUT, or errno. */
int32_t baro_producer_declare_many(struct baro_producer *producer,
                                   const char *const *names,
                                   const char *const *units,
                                   const uint32_t *types,
                                   size_t count,
                                   uint64_t timeout_ns,
                                   uint32_t *ids);

/* Makes durable at once everything that all producers of this recorder, those attached from
 * other processes too, had pushed before the call; for a supply that fails. Returns 0 when it
 * is, or BARO_ETIMEDOUT after `timeout_ns`; `left` becomes the number of records that are not
 * durable, 0 if all are, and may be null. A record that was refused counts until its gap is
 * durable.
 *
 * Any thread may call it, several at once, but none that must not wait: it waits for the device,
 * for at most `timeout_ns` and 2 ms, and takes memory and locks of the library, so that a
 * signal's handler may not. (Let the handler wake a thread, by a semaphore or a signalfd.)
 * Pushes go on meanwhile and notice nothing. Without it the same is durable after
 * durable_within_ns, if the device keeps up.
 * Returns 0, BARO_EINVAL, BARO_ETIMEDOUT, BARO_ESHUTDOWN. */
int32_t baro_flush(const struct baro_recorder *recorder,
                   uint64_t timeout_ns,
                   uint64_t *left);

/* Waits until the record of this sequence of a producer (baro_ring_report has its id) is
 * durable, or logged as a gap; BARO_ETIMEDOUT after `timeout_ns`. It does not hurry the writer
 * as baro_flush does. For any thread but the one that must not wait.
 * Returns 0, BARO_EINVAL, BARO_ETIMEDOUT, BARO_ENOENT. */
int32_t baro_wait_durable(const struct baro_recorder *recorder,
                          uint64_t producer,
                          uint64_t sequence,
                          uint64_t timeout_ns);

/* Waits until the record of this sequence is durable, or logged as a gap; BARO_ETIMEDOUT after
 * `timeout_ns`. For producers that may wait, of this process or attached.
 * Returns 0, BARO_EINVAL, BARO_ETIMEDOUT. */
int32_t baro_producer_wait_durable(const struct baro_producer *producer,
                                   uint64_t sequence,
                                   uint64_t timeout_ns);

/* What went wrong in the last call of this thread that failed: what, where, the next step. Empty
 * if none did. Valid until the next call of this thread that fails. Never null. */
const char *baro_last_error(void);

/* What a code means, in general. Never null; valid for ever. */
const char *baro_strerror(int32_t code);

/* From now on calls `callback` with `user` whenever records are lost, something goes wrong in
 * the background, the writer is in trouble or out of it, or a pin changes its state: see
 * BARO_EVENT_... What has gone wrong already is told first. Replaces the callback that was set
 * before; null unsets it. When this returns, and when baro_close does, the one before is not
 * running and will not be called again; news of the last moment is told before, for which it
 * waits up to 1 s for the device.
 *
 * It is called from a thread of the library's that does nothing else, up to 100 ms after the
 * fact, one call at a time; never from inside a push or any other call, and never by the writer,
 * so that it may take its time, and locks of the program's own. It may call everything with this
 * recorder but baro_on_event and baro_close, which would wait for themselves and return
 * BARO_EINVAL. It must return: no longjmp, no pthread_exit, no exception of C++ may leave it
 * (that ends the process).
 * Returns 0, BARO_EINVAL, BARO_ENOMEM. */
int32_t baro_on_event(const struct baro_recorder *recorder,
                      baro_event_callback callback,
                      void *user);

/* Opens the frames of the channel `name` with from_ns <= time_ns < to_ns (INT64_MIN and
 * INT64_MAX for no bound), by rising time; of one time in the order of their sessions and
 * sequences. Frames are in the log alone, pinned ones too. What is recorded after this call is
 * not seen. Works beside the store's recorder, which does not notice. Blocks for the device,
 * here for reading the headers of all blocks; takes about 20 MiB of memory.
 * Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBADMSG, BARO_EIO, or errno. */
int32_t baro_frames_open(const char *store,
                         const char *name,
                         int64_t from_ns,
                         int64_t to_ns,
                         struct baro_frames **frames);

/* The next frame: returns 1 and fills `record` and `frame`, or 0 at the end. The frame has
 * record->payload_bytes bytes, may have any alignment, and is valid until the next call on these
 * frames. Blocks for the device from time to time. Damage is no error but counted: see
 * baro_frames_report. After an error of the device the call may be made again.
 * Returns 1, 0, BARO_EINVAL, BARO_EIO, or errno. */
int32_t baro_frames_next(struct baro_frames *frames,
                         struct baro_record *record,
                         const void **frame);

/* Goes to the first frame of the interval whose time is not before `time_ns`: baro_frames_next
 * continues there. Does not block.
 * Returns 0, BARO_EINVAL. */
int32_t baro_frames_seek(struct baro_frames *frames, int64_t time_ns);

/* What has been met so far: blocks that are read for several portions count each time.
 * Returns 0, BARO_EINVAL. */
int32_t baro_frames_report(const struct baro_frames *frames, struct baro_read_report *report);

/* Frees the frames.
 * Returns 0, BARO_EINVAL. */
int32_t baro_frames_close(struct baro_frames *frames);

/* Makes a store in the folder `store`, which is made too. Every byte of the log is written once,
 * so that recording allocates nothing: blocks for as long as the device takes for that, or, with
 * BARO_INIT_GROW, for two segments; the recorder adds the others then. `options` may be null.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EEXIST, BARO_EBUSY if another process makes one
 * there, BARO_ENOSPC, or errno. */
int32_t baro_init(const char *store, const struct baro_init_options *options);

/* Keeps a window of time, from before_ns before now to after_ns after it, from being recycled;
 * its id goes to `id`. Blocks until the pin is durable: not for the thread that must not wait.
 * BARO_EACCES: it is refused, and baro_last_error says why; recording goes on.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EACCES, BARO_ESHUTDOWN, BARO_EIO, or errno. */
int32_t baro_pin(const struct baro_recorder *recorder,
                 const struct baro_pin_options *options,
                 uint64_t *id);

/* The same for the store in the folder `store`, into which another process records, or none:
 * then the window ends with what was recorded, and after_ns counts for nothing. Needs no handle;
 * may be called beside this process's own recorder too. Blocks until the pin is durable, or for
 * 20 s if the recorder does not answer.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_EACCES, BARO_ENOENT, BARO_ENOTDIR, BARO_EBUSY,
 * BARO_EBADMSG, BARO_ETIMEDOUT, BARO_EIO, or errno. */
int32_t baro_pin_store(const char *store, const struct baro_pin_options *options, uint64_t *id);

/* From now on, until the recorder is closed, pins a window whenever a value of the series of the
 * name `series`, declared before, goes beyond `limit`: once for each crossing, and not again
 * while the window of the last is open, which grows instead. The window is about the sample's
 * time. The writer looks at the values (from a moment after this returns on, so watch before
 * recording); a push costs what it did. A pin that is refused later is told by baro_complaints.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOENT, BARO_ESHUTDOWN. */
int32_t baro_pin_when(const struct baro_recorder *recorder,
                      const char *series,
                      uint32_t comparison,
                      double limit,
                      const struct baro_pin_options *options);

/* The number of pins of the recorder's store.
 * Returns the number of pins, BARO_EINVAL. */
int32_t baro_pin_count(const struct baro_recorder *recorder);

/* Pin number `index` by rising id, as it stands: returns 1 and fills `info`, or 0 if there are
 * no more. What another process has pinned or released shows a moment later. Of a store without
 * a recorder of this process see baro_reader_pin.
 * Returns 1, 0, BARO_EINVAL. */
int32_t baro_pin_get(const struct baro_recorder *recorder,
                     size_t index,
                     struct baro_pin_info *info);

/* Gives what a pin holds back to recycling; BARO_ENOENT if there is none of this id. Blocks
 * until that is durable.
 * Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ESHUTDOWN, BARO_EIO, or errno. */
int32_t baro_pin_release(const struct baro_recorder *recorder, uint64_t id);

/* The same for the store in the folder `store`, as baro_pin_store.
 * Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBUSY, BARO_EBADMSG, BARO_EACCES,
 * BARO_ETIMEDOUT, BARO_EIO, or errno. */
int32_t baro_pin_release_store(const char *store, uint64_t id);

/* Makes the first files in `folder`, which must be there, and waits until they are reserved.
 * Removes what a killed pool has left ready there. Two threads belong to it: they make files,
 * hand what was written to the disk, and finish files, so that who writes need not wait for
 * that. `options` may be null.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOTDIR, BARO_ENOTSUP, or errno. */
int32_t baro_plain_open(const char *folder,
                        const struct baro_plain_options *options,
                        struct baro_plain_pool **pool);

/* A file that is ready, to be named `name` in the pool's folder. Blocks only if none is ready,
 * which baro_plain_waits counts. If somebody makes a file of this name before a thread of the
 * pool gives it, that one stays: the next baro_plain_write and baro_plain_finish return
 * BARO_EEXIST and say where this one is. Also tells a failure of a file that nobody has waited
 * for, once.
 * Returns 0, BARO_EINVAL, BARO_EEXIST, BARO_ESHUTDOWN, or errno. */
int32_t baro_plain_take(struct baro_plain_pool *pool,
                        const char *name,
                        struct baro_plain_file **file);

/* How often baro_plain_take had to wait: if it did, more files should be kept ready.
 * Returns 0, BARO_EINVAL. */
int32_t baro_plain_waits(const struct baro_plain_pool *pool, uint64_t *waits);

/* Writes all of `bytes` behind what is written: one pwrite(2), into memory only. Nothing is
 * durable before baro_plain_finish has been waited for. May block: for a journal that is locked,
 * and for the dirty pages of all programs together. BARO_ENOSPC: it is more than the file has
 * room for, and nothing is written. An earlier failure of the threads behind it is told, and
 * nothing written: of this file by each write, of a file that nobody has waited for once.
 * Returns 0, BARO_EINVAL, BARO_ENOSPC, BARO_EEXIST, BARO_ESHUTDOWN, or errno. */
int32_t baro_plain_write(struct baro_plain_file *file,
                         const void *bytes,
                         size_t count);

/* Bytes that the file still has room for.
 * Returns 0, BARO_EINVAL, BARO_ESHUTDOWN. */
int32_t baro_plain_room(const struct baro_plain_file *file, uint64_t *bytes);

/* Ends the file: what was not written is cut off, and all is made durable, by a thread of the
 * pool. The handle is gone in any case. If `bytes` is null it does not wait: what has failed so
 * far is told at once, what fails later by the next write or take, or by baro_plain_close. Else
 * it blocks until the file is durable, and says how long it is.
 * Returns 0, BARO_EINVAL, BARO_EEXIST, BARO_ESHUTDOWN, or errno. */
int32_t baro_plain_finish(struct baro_plain_file *file,
                          uint64_t *bytes);

/* Waits for what is under way, and removes the files that are ready. The handle is gone in any
 * case. Files that were taken and not finished stay as long as they were reserved; what is
 * called on them then is refused. Tells the first failure of what nobody has waited for.
 * Returns 0, BARO_EINVAL, BARO_ESHUTDOWN, or errno. */
int32_t baro_plain_close(struct baro_plain_pool *pool);

/* Makes a ring with its producer, for this process. A recorder has at most 64 rings.
 * Returns 0, BARO_EINVAL, BARO_ESHUTDOWN, or errno. */
int32_t baro_producer_open(const struct baro_recorder *recorder, struct baro_producer **producer);

/* Becomes the producer of a ring that a recorder in another process made: see
 * baro_ring_for_attach. Goes on with the sequence of the producer before. What it pushes to is
 * declared by baro_producer_declare.
 * Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_EBUSY, BARO_EBADMSG, or errno. */
int32_t baro_attach(const char *ring, struct baro_producer **producer);

/* Frees the producer. What it pushed stays in the ring until it is durable. After baro_close
 * this removes the ring's file if nothing is in it.
 * Returns 0, BARO_EINVAL. */
int32_t baro_producer_close(struct baro_producer *producer);

/* Every sequence below *durable survives a power cut, or is a logged gap. Never blocks.
 * Returns 0, BARO_EINVAL. */
int32_t baro_producer_durable(const struct baro_producer *producer, uint64_t *durable);

/* The ring's counters: what was refused, lost, written, durable. Never blocks.
 * Returns 0, BARO_EINVAL. */
int32_t baro_producer_report(const struct baro_producer *producer, struct baro_ring_report *report);

/* Puts the path of the ring's file into `buffer` of `room` bytes: another process can attach to
 * it once this producer is closed. BARO_ENOTSUP if the ring is private memory.
 * Returns 0, BARO_EINVAL, BARO_ENOTSUP, BARO_ERANGE. */
int32_t baro_producer_path(const struct baro_producer *producer, char *buffer, size_t room);

/* Pushes a frame of `channel`, taken at `time_ns`. `sequence` may be null. Never blocks, never
 * enters the kernel. BARO_EAGAIN: the ring is full; the record is counted and will be a gap.
 *
 * Of a record a push checks its size and its pointers, and of text that it is UTF-8, but looks
 * no id up. The recorder does, before it writes: a record in which an id is declared with
 * another type than it is pushed with, here and in all pushes below, is not recorded. It is
 * counted in `lost` of baro_status, told by baro_complaints and to the callback of
 * baro_on_event, and will be a gap. An id that nobody declared is recorded, and no name finds
 * it: baro_complaints and baro verify tell of it.
 * Returns 0, BARO_EAGAIN, BARO_EMSGSIZE, BARO_ESHUTDOWN, BARO_EPERM, BARO_EINVAL, and BARO_EBUSY
 * in builds of the library with checks, if two threads push at once. */
int32_t baro_push_frame(struct baro_producer *producer,
                        uint32_t channel,
                        int64_t time_ns,
                        const void *frame,
                        size_t frame_bytes,
                        uint64_t *sequence);

/* Pushes a batch of `count` samples as columns, all taken at `time_ns`: values of series of type
 * BARO_F64. Otherwise as baro_push_frame.
 * Returns what baro_push_frame does. */
int32_t baro_push_samples(struct baro_producer *producer,
                          int64_t time_ns,
                          const uint32_t *series,
                          const double *values,
                          size_t count,
                          uint64_t *sequence);

/* The same for series of any other type than BARO_F64.
 * Returns what baro_push_frame does. */
int32_t baro_push_integers(struct baro_producer *producer,
                           int64_t time_ns,
                           const uint32_t *series,
                           const int64_t *values,
                           size_t count,
                           uint64_t *sequence);

/* Pushes a batch of `count` samples as columns, each with a time of its own, in any order:
 * values of series of type BARO_F64. Otherwise as baro_push_frame; BARO_EINVAL if there is none.
 * Returns what baro_push_frame does. */
int32_t baro_push_batch(struct baro_producer *producer,
                        const int64_t *times_ns,
                        const uint32_t *series,
                        const double *values,
                        size_t count,
                        uint64_t *sequence);

/* The same for series of any other type than BARO_F64 and BARO_TEXT.
 * Returns what baro_push_frame does. */
int32_t baro_push_integer_batch(struct baro_producer *producer,
                                const int64_t *times_ns,
                                const uint32_t *series,
                                const int64_t *values,
                                size_t count,
                                uint64_t *sequence);

/* Pushes a batch of `count` samples of series of several types as columns, all taken at
 * `time_ns`. The caller puts each value into the field of its series' type: the recorder looks
 * whether the ids are of series of numbers, but cannot see which field was meant. Otherwise as
 * baro_push_frame.
 * Returns what baro_push_frame does. */
int32_t baro_push_mixed(struct baro_producer *producer,
                        int64_t time_ns,
                        const uint32_t *series,
                        const union baro_value *values,
                        size_t count,
                        uint64_t *sequence);

/* The same with a time for each sample, in any order; BARO_EINVAL if there is none.
 * Returns what baro_push_frame does. */
int32_t baro_push_mixed_batch(struct baro_producer *producer,
                              const int64_t *times_ns,
                              const uint32_t *series,
                              const union baro_value *values,
                              size_t count,
                              uint64_t *sequence);

/* Pushes one sample of a series of type BARO_TEXT: `text_bytes` of UTF-8, at most 65536, without
 * a zero byte at the end. Otherwise as baro_push_frame; BARO_EINVAL if it is not UTF-8.
 * Returns what baro_push_frame does. */
int32_t baro_push_text(struct baro_producer *producer,
                       uint32_t series,
                       int64_t time_ns,
                       const char *text,
                       size_t text_bytes,
                       uint64_t *sequence);

/* Pushes one sample of a series of type BARO_F64. A batch costs less for each sample.
 * Returns what baro_push_frame does. */
int32_t baro_push_sample(struct baro_producer *producer,
                         uint32_t series,
                         int64_t time_ns,
                         double value,
                         uint64_t *sequence);

/* Pushes one sample of a series of any other type.
 * Returns what baro_push_frame does. */
int32_t baro_push_integer(struct baro_producer *producer,
                          uint32_t series,
                          int64_t time_ns,
                          int64_t value,
                          uint64_t *sequence);

/* Opens the store in the folder `store` for reading what is in the log now, record by record in
 * the order of writing; also beside its recorder, which does not notice. Samples that were
 * settled leave the log when it goes round, and then this reader does not have them: those of
 * one series, settled or not, are read by baro_samples_open, frames by time by baro_frames_open.
 * Takes 1 to 8 MiB of memory. Blocks for reading the headers of all blocks.
 * Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBADMSG, BARO_EIO, or errno. */
int32_t baro_reader_open(const char *store,
                         struct baro_reader **reader);

/* The next record of the log: returns 1 and fills `record` and `payload`, or 0 at the end. The
 * payload has record->payload_bytes bytes, may have any alignment, and is valid until the next
 * call on this reader. Blocks for the device. Damage is no error but counted: see
 * baro_reader_report.
 * Returns 1, 0, BARO_EINVAL, BARO_EIO, or errno. */
int32_t baro_reader_next(struct baro_reader *reader,
                         struct baro_record *record,
                         const void **payload);

/* What the reader has met so far.
 * Returns 0, BARO_EINVAL. */
int32_t baro_reader_report(const struct baro_reader *reader, struct baro_read_report *report);

/* Series or channel number `index` of the catalog, in the order of declaration: returns 1 and
 * fills `series`, or 0 if there are no more. Its name goes to `name` of `room` bytes (1025 hold
 * every name); null if it is not wanted.
 * Returns 1, 0, BARO_EINVAL, BARO_ERANGE. */
int32_t baro_reader_series(const struct baro_reader *reader,
                           size_t index,
                           struct baro_series *series,
                           char *name,
                           size_t room);

/* The series or channel of this name.
 * Returns 0, BARO_EINVAL, BARO_ENOENT. */
int32_t baro_reader_find(const struct baro_reader *reader,
                         const char *name,
                         struct baro_series *series);

/* Puts the field layout of the channel `name` into `buffer` of `room` bytes, in the text form
 * that baro_declare takes. Returns 1, or 0 and an empty text if it has none.
 * Returns 1, 0, BARO_EINVAL, BARO_ENOENT, BARO_ERANGE. */
int32_t baro_reader_layout(const struct baro_reader *reader,
                           const char *name,
                           char *buffer,
                           size_t room);

/* The value of the field `name`, as in "channel.speed" or "channel.cell[2]", in the record that
 * baro_reader_next handed out last: returns 1 and fills `value`, or 0 if that record is no frame
 * of this channel, or one that ends before the field. Scaled as the layout says; integers beyond
 * 2^53 are rounded, a bool is 0 or 1.
 * Returns 1, 0, BARO_EINVAL, BARO_ENOENT. */
int32_t baro_field_get(const struct baro_reader *reader, const char *name, double *value);

/* Pin number `index` of the store, by rising id, as it stood when the reader was opened: returns
 * 1 and fills `info`, or 0 if there are no more. What it holds are the records with from_ns <=
 * time_ns < to_ns.
 * Returns 1, 0, BARO_EINVAL. */
int32_t baro_reader_pin(const struct baro_reader *reader, size_t index, struct baro_pin_info *info);

/* Frees the reader.
 * Returns 0, BARO_EINVAL. */
int32_t baro_reader_close(struct baro_reader *reader);

/* Opens the store in the folder `store` for recording: recovers what a crash left, takes over
 * the rings of a killed recorder, starts the writer. Blocks for reading at most two segments.
 * `options` may be null. What does not hold on this machine is told by baro_reservations.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOENT, BARO_ENOTDIR, BARO_EBUSY, BARO_EBADMSG,
 * BARO_EIO, or errno. */
int32_t baro_open(const char *store,
                  const struct baro_open_options *options,
                  struct baro_recorder **recorder);

/* Makes what the rings hold durable, ends the writer and frees the recorder, whatever is
 * returned but BARO_EINVAL. Blocks; a device that fails is given 5 s, one that is silent 2
 * minutes. Pushes are refused from now on; producers are closed on their own, before or after.
 * `status` may be null; its field left counts the records that could not be made durable. The
 * file of an empty ring is removed by baro_close or baro_producer_close, whichever comes last:
 * of a producer that is never closed it stays in the folder of the rings (16 MiB by default)
 * until the store is opened the next time or the machine restarts. A ring that is not empty
 * always waits for that open.
 * Returns 0, BARO_EINVAL. */
int32_t baro_close(struct baro_recorder *recorder,
                   struct baro_status *status);

/* The id of the series or channel `name`, declared durably if it is new: blocks for the device
 * then, so declare before recording. `unit` may be null; one that is there already keeps its
 * own. `layout` says where values lie inside the frames of a channel, so that they are read back
 * as series NAME.FIELD: null, or fields like "speed:f32@0,temp:i16be@4*0.1-40(degC),cell:u16[4]"
 * (name:type@offset, then an array's elements, scale, bias and unit as wanted; without an offset
 * behind the field before). A declared layout never changes. `options` may be null: a series of
 * type BARO_F64.
 * Returns 0, BARO_EINVAL, BARO_E2BIG, BARO_ENOSPC, BARO_EBADMSG, BARO_EIO, or errno. */
int32_t baro_declare(const struct baro_recorder *recorder,
                     const char *name,
                     const char *unit,
                     const char *layout,
                     const struct baro_declare_options *options,
                     uint32_t *id);

/* Ids of `count` series or channels, declared durably together where they are new: one wait for
 * the device instead of one for each. `units` may be null, and so may be each of its texts;
 * `types` may be null: all of type BARO_F64. On an error none is declared.
 * Returns 0, BARO_EINVAL, BARO_ENOSPC, BARO_EBADMSG, BARO_EIO, or errno. */
int32_t baro_declare_many(const struct baro_recorder *recorder,
                          const char *const *names,
                          const char *const *units,
                          const uint32_t *types,
                          size_t count,
                          uint32_t *ids);

/* The writer's counters, as it last published them.
 * Returns 0, BARO_EINVAL. */
int32_t baro_status_get(const struct baro_recorder *recorder, struct baro_status *status);

/* Puts into `buffer` of `room` bytes which promises do not hold on this machine, a sentence a
 * line with what would grant it; empty if all hold.
 * Returns the number of lines, BARO_EINVAL, BARO_ERANGE. */
int32_t baro_reservations(const struct baro_recorder *recorder, char *buffer, size_t room);

/* Puts into `buffer` of `room` bytes what goes wrong in the background, a sentence a line: the
 * log cannot grow, a pin of baro_pin_when was refused, pinned segments cannot be copied, records
 * were pushed with another type than their series is declared with; empty if nothing does. See
 * baro_on_event for being told.
 * Returns the number of lines, BARO_EINVAL, BARO_ERANGE. */
int32_t baro_complaints(const struct baro_recorder *recorder, char *buffer, size_t room);

/* Makes a ring for a producer in another process and puts its path, for baro_attach there, into
 * `buffer` of `room` bytes.
 * Returns 0, BARO_EINVAL, BARO_ERANGE, BARO_ESHUTDOWN, or errno. */
int32_t baro_ring_for_attach(const struct baro_recorder *recorder, char *buffer, size_t room);

/* Sample number `index` of a record of kind BARO_KIND_SAMPLES, whose time is `time_ns`. Returns
 * 1, or 0 if there are no more.
 * Returns 1, 0, BARO_EINVAL, BARO_EBADMSG. */
int32_t baro_sample_get(const void *payload,
                        size_t payload_bytes,
                        int64_t time_ns,
                        size_t index,
                        struct baro_sample *sample);

/* What a record of kind BARO_KIND_GAP says: how many were lost, by cause.
 * Returns 0, BARO_EINVAL, BARO_EBADMSG. */
int32_t baro_gap_get(const void *payload, size_t payload_bytes, struct baro_gap *gap);

/* Opens the samples of `name`, a series with its labels, in any order, as in
 * "temp{room=\"a\",floor=\"2\"}", or a field of a channel as in "channel.speed", with from_ns <=
 * time < to_ns (INT64_MIN and INT64_MAX for no bound): settled ones and those in the log, by
 * rising time; of several of one time the one recorded last. `value_type` becomes BARO_F64,
 * BARO_I64 (u64 fields too: the same bits), BARO_BOOL or BARO_TEXT. Works beside the store's
 * recorder, which does not notice. Blocks for the device. Needs up to 512 MiB of memory where so
 * much of the log waits to be settled, and about 6 MiB else, 12 MiB for long texts.
 * Returns 0, BARO_EINVAL, BARO_ENOENT, BARO_ENOTDIR, BARO_EBADMSG, BARO_EIO, or errno. */
int32_t baro_samples_open(const char *store,
                          const char *name,
                          int64_t from_ns,
                          int64_t to_ns,
                          struct baro_samples **samples,
                          uint32_t *value_type);

/* The next sample: returns 1 and fills `sample`, or 0 at the end. Of a text only the time is in
 * it: see baro_samples_text. Blocks for the device from time to time. Damage that was met is
 * BARO_EIO, and so are blocks with values of a field that the recorder recycled before they were
 * read; what follows can still be read.
 * Returns 1, 0, BARO_EINVAL, BARO_EIO, BARO_ERANGE, BARO_EBADMSG, or errno. */
int32_t baro_samples_next(struct baro_samples *samples,
                          struct baro_sample *sample);

/* Begins anew with the newest `count` samples of the interval, 1 to 1,048,576, which are handed
 * out by rising time. Before or between calls of baro_samples_next; baro_samples_seek takes it
 * back. Reads little where they were recorded lately. Does not block.
 * Returns 0, BARO_EINVAL. */
int32_t baro_samples_newest(struct baro_samples *samples,
                            size_t count);

/* Goes to the first sample of the interval whose time is not before `time_ns`: baro_samples_next
 * continues there. Does not block.
 * Returns 0, BARO_EINVAL. */
int32_t baro_samples_seek(struct baro_samples *samples, int64_t time_ns);

/* The text of the sample that baro_samples_next handed out last: `text` has `bytes` bytes of
 * UTF-8, no zero byte at their end, and is valid until the next call on these samples. Does not
 * block.
 * Returns 0, BARO_EINVAL, BARO_ENOENT. */
int32_t baro_samples_text(struct baro_samples *samples, const char **text, size_t *bytes);

/* Frees the samples.
 * Returns 0, BARO_EINVAL. */
int32_t baro_samples_close(struct baro_samples *samples);

/* The version of the library that runs; compare with BARO_VERSION, which was compiled in. */
uint32_t baro_version(void);

/* The same as text, as BARO_VERSION_TEXT. Never null; valid for ever. */
const char *baro_version_text(void);

/* The realtime clock, nanoseconds since the Unix epoch: a time for pushes. Does not block. */
int64_t baro_now_ns(void);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* BAROGRAPH_H */
