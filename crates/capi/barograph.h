/* Barograph's recorder for C and C++: records sensor and control data without ever waiting for
 * the disk. Written by `cargo xtask tidy --bless` from crates/capi; do not edit. Link with
 * libbaro (pkg-config baro); examples/c has programs that compile.
 *
 * Calls return 0 or a positive count, or a negative code whose number is that of errno.
 * baro_last_error() then says what, where and what to do next; baro_strerror() names a code.
 * Only pushes that are refused (BARO_EAGAIN, BARO_EMSGSIZE, BARO_ESHUTDOWN, BARO_EPERM) leave the
 * text alone: a push does nothing that it need not.
 *
 * Structures start with type_size: set it to sizeof the structure, in those that are filled by
 * the library too. A size below this version's is refused, one above is accepted while the bytes
 * that this version does not know are zero. Structures have neither pointers nor padding, so they
 * are the same on every machine. All zero but type_size means the defaults.
 *
 * Threads: a recorder may be used by several at once. A producer and a reader each by one at a
 * time, and they may change hands between calls. Only pushes, baro_producer_durable and
 * baro_producer_report never block, allocate, or enter the kernel. Closing a handle while another
 * thread uses it is an error that nothing can detect. Nothing may be called from a signal's
 * handler but what never blocks. In a forked child pushes are refused (from Linux 4.14 on), and
 * no other call on a handle of the parent's may be made.
 *
 * Text is UTF-8 and ends with a zero byte. Times are nanoseconds since the Unix epoch. */


#ifndef BAROGRAPH_H
#define BAROGRAPH_H

#include <stddef.h>
#include <stdint.h>


// The version of this interface: major * 65536 + minor * 256 + patch. Before 1.0 a change of
// minor may break, later only one of major.
#define BARO_VERSION 256

// A forked child may not do this: the handle belongs to its parent.
#define BARO_EPERM -1

// There is no such file, folder or name; for a folder: it holds no store.
#define BARO_ENOENT -2

// The device or the library failed; the text says where.
#define BARO_EIO -5

// A structure is larger than this library knows, and sets something in the part that it does not.
#define BARO_E2BIG -7

// The ring is full: the record is lost, counted, and will be a gap in the log.
#define BARO_EAGAIN -11

// There is no memory.
#define BARO_ENOMEM -12

// A pin is refused; the text says why.
#define BARO_EACCES -13

// Another process uses the store or the ring.
#define BARO_EBUSY -16

// There is a store already.
#define BARO_EEXIST -17

// An argument is null, of a wrong size, or outside its limits; the text says which.
#define BARO_EINVAL -22

// The device, or the catalog, is full.
#define BARO_ENOSPC -28

// The text does not fit into the buffer given.
#define BARO_ERANGE -34

// What was read is not what the format says: foreign, of another version, or damaged.
#define BARO_EBADMSG -74

// The record is larger than the ring takes: it is lost, counted, and will be a gap in the log.
#define BARO_EMSGSIZE -90

// Not in this version of the library.
#define BARO_ENOTSUP -95

// The recorder is closed.
#define BARO_ESHUTDOWN -108

// The time is over, or another process has not answered in time.
#define BARO_ETIMEDOUT -110

// The library met a bug of its own and stopped what it was doing; close the handle.
#define BARO_ENOTRECOVERABLE -131

// Reuse the oldest segment when the log is full, instead of refusing new records.
#define BARO_INIT_RECYCLE 1

// Write two segments now; the recorder adds the others in the background, until the log has
// log_bytes, or what may be used of it.
#define BARO_INIT_GROW 2

// Use the page cache even where direct I/O is possible.
#define BARO_OPEN_BUFFERED 1

// Rings are memory of this process: no other can attach, and they do not survive it.
#define BARO_OPEN_RINGS_PRIVATE 2

// The field cpu is meant.
#define BARO_OPEN_CPU 4

// Type of a series: 64-bit floating point.
#define BARO_F64 1

// Type of a series: 64-bit signed integer.
#define BARO_I64 2

// Type of a series: 0 or 1, pushed as an integer.
#define BARO_BOOL 3

// Type of a series: text.
#define BARO_TEXT 4

// Not a series but a channel of frames.
#define BARO_CHANNEL 16

// The writer makes progress.
#define BARO_TROUBLE_NONE 0

// Every segment holds data, and the store was made to stop then.
#define BARO_TROUBLE_LOG_FULL 1

// A write or sync failed; what was not durable is written again elsewhere.
#define BARO_TROUBLE_DEVICE 2

// The log is growing: every segment that is there holds data.
#define BARO_TROUBLE_GROWING 3

// Pins, or what is to be kept, hold every segment: new records are refused.
#define BARO_TROUBLE_HELD 4

// baro_pin_when: the value is above the limit.
#define BARO_ABOVE 1

// baro_pin_when: the value is at the limit or above.
#define BARO_AT_LEAST 2

// baro_pin_when: the value is below the limit.
#define BARO_BELOW 3

// baro_pin_when: the value is at the limit or below.
#define BARO_AT_MOST 4

// The recorder has not seen the pin yet.
#define BARO_PIN_ASKED 1

// The end of the pin's window is still to come.
#define BARO_PIN_OPEN 2

// Everything of the pin's window that was recorded is held.
#define BARO_PIN_WHOLE 3

// Less than the pin's window is held; the reason says what is missing.
#define BARO_PIN_SHORT 4

// The pin was not granted; the reason says why.
#define BARO_PIN_REFUSED 5

// A frame of a channel.
#define BARO_KIND_FRAME 1

// A batch of samples: see baro_sample_get.
#define BARO_KIND_SAMPLES 2

// Records that were lost: see baro_gap_get.
#define BARO_KIND_GAP 3

// The realtime clock was stepped: payload i64 before, i64 after, each minus boottime.
#define BARO_KIND_CLOCK 4

// A sample of a series of type BARO_TEXT: the payload is UTF-8, `channel` is the series.
#define BARO_KIND_TEXT 7

// Pushes records into one ring. For one thread at a time.
typedef struct baro_producer baro_producer;

// A store opened for reading. For one thread at a time.
typedef struct baro_reader baro_reader;

// A store that this process records into. May be used by several threads at once.
typedef struct baro_recorder baro_recorder;

// Samples of a series over an interval. For one thread at a time.
typedef struct baro_samples baro_samples;

// How a store is made.
typedef struct baro_init_options {
  // sizeof(baro_init_options)
  uint32_t type_size;
  // BARO_INIT_... or 0.
  uint32_t flags;
  // Bytes of the log, from 2 MiB on; 0: 1 GiB.
  uint64_t log_bytes;
} baro_init_options;

// How a pin is asked for.
typedef struct baro_pin_options {
  // sizeof(baro_pin_options)
  uint32_t type_size;
  // 0
  uint32_t flags;
  // How far the window reaches back; at most ten years.
  uint64_t before_ns;
  // How far it goes on; at most ten years.
  uint64_t after_ns;
  // What people call it, at most 256 bytes; may be empty.
  char name[264];
} baro_pin_options;

// A pin as it stands.
typedef struct baro_pin_info {
  // sizeof(baro_pin_info)
  uint32_t type_size;
  // BARO_PIN_...
  uint32_t state;
  // Its id: random, never 0.
  uint64_t id;
  // Earliest time of a record in its window.
  int64_t from_ns;
  // First time behind its window.
  int64_t to_ns;
  // The moment that it is about.
  int64_t moment_ns;
  // Its name; empty if it has none.
  char name[264];
  // Why less than the window is held; else empty.
  char reason[1032];
} baro_pin_info;

// A ring's counters at one moment.
typedef struct baro_ring_report {
  // sizeof(baro_ring_report)
  uint32_t type_size;
  // 1 if the writer has closed the ring.
  uint32_t closed;
  // Random id of the ring's producer.
  uint64_t producer;
  // Sequences handed out: records pushed and refused.
  uint64_t offered;
  // Refused because the ring was full.
  uint64_t refused_full;
  // Refused because they were too large.
  uint64_t refused_large;
  // Every sequence below is written or a logged gap.
  uint64_t written;
  // Every sequence below is durable or a logged gap.
  uint64_t durable;
  // Bytes in the ring that are not durable yet.
  uint64_t used_bytes;
  // Bytes of the ring.
  uint64_t capacity_bytes;
  // Largest payload of a record.
  uint64_t record_bytes_max;
} baro_ring_report;

// A record that was read.
typedef struct baro_record {
  // sizeof(baro_record)
  uint32_t type_size;
  // BARO_KIND_...; ignore kinds that you do not know.
  uint32_t kind;
  // Session that wrote it.
  uint64_t session;
  // Who pushed it; 0 is the writer.
  uint64_t producer;
  // Number among those of its producer.
  uint64_t sequence;
  // Time given by the producer.
  int64_t time_ns;
  // Bytes of the payload.
  uint64_t payload_bytes;
  // Channel of a frame, else 0.
  uint32_t channel;
  // 0
  uint32_t reserved;
} baro_record;

// What a reader has met so far.
typedef struct baro_read_report {
  // sizeof(baro_read_report)
  uint32_t type_size;
  // Series and channels in the catalog.
  uint32_t series;
  // Records handed out.
  uint64_t records;
  // Blocks read.
  uint64_t blocks;
  // Blocks that were durable once and are damaged or missing.
  uint64_t blocks_damaged;
  // Blocks that a recorder reused before they were read.
  uint64_t blocks_recycled;
} baro_read_report;

// A declared series or channel.
typedef struct baro_series {
  // sizeof(baro_series)
  uint32_t type_size;
  // Its id.
  uint32_t id;
  // BARO_F64, BARO_I64, BARO_BOOL, BARO_TEXT or BARO_CHANNEL.
  uint32_t value_type;
  // 0
  uint32_t reserved;
} baro_series;

// How a store is opened for recording.
typedef struct baro_open_options {
  // sizeof(baro_open_options)
  uint32_t type_size;
  // BARO_OPEN_... or 0.
  uint32_t flags;
  // Longest time from push to durable that the writer aims at; 0: 100 ms.
  uint64_t durable_within_ns;
  // Bytes of each ring: covers input rate x longest stall of the device; 0: 16 MiB.
  uint64_t ring_bytes;
  // Largest payload of a record, at most a quarter of the ring; 0: 256 KiB.
  uint64_t record_bytes_max;
  // Largest block, of which the writer has nine; holds the largest record; 0: 256 KiB. Above
  // 100 MB/s 1 MiB is better.
  uint64_t block_bytes;
  // Use at most so many bytes of a log that recycles, at least two segments; then the oldest
  // segment is reused although the log could be larger; 0: all.
  uint64_t keep_bytes;
  // Recycle nothing younger, in nanoseconds while the machine runs. If the log is full of
  // younger data, new records are refused and counted (BARO_TROUBLE_HELD); 0: no limit.
  uint64_t keep_ns;
  // The log grows only as long as its file system has so many bytes free.
  uint64_t min_free_bytes;
  // Processor of the writer's threads, with BARO_OPEN_CPU.
  uint32_t cpu;
  // SCHED_FIFO priority of the writer's threads, 1 to 99, used if granted; 0: none.
  uint32_t fifo;
  // Folder of the rings, which must be a tmpfs; empty: the first of RUNTIME_DIRECTORY,
  // /run/barograph-root (root), XDG_RUNTIME_DIR, /dev/shm that is one and in which nobody else
  // can have put anything.
  char ring_folder[256];
} baro_open_options;

// The writer's counters since the store was opened.
typedef struct baro_status {
  // sizeof(baro_status)
  uint32_t type_size;
  // BARO_TROUBLE_...: why there is no progress.
  uint32_t trouble;
  // Session of this open.
  uint64_t session;
  // Blocks handed to the device.
  uint64_t blocks;
  // Those of them that are durable.
  uint64_t durable_blocks;
  // Bytes handed to the device, with padding, headers, and what was repeated.
  uint64_t device_bytes;
  // Bytes of padding in them.
  uint64_t padding_bytes;
  // Payload bytes of records in blocks, what was repeated counted once.
  uint64_t payload_bytes;
  // Records in blocks.
  uint64_t records;
  // Records lost and logged as gaps.
  uint64_t lost;
  // Syncs completed.
  uint64_t syncs;
  // Failed writes and syncs.
  uint64_t failures;
  // Longest write.
  uint64_t longest_write_ns;
  // Longest sync.
  uint64_t longest_sync_ns;
  // Longest time from taking a record into a block to its being durable.
  uint64_t longest_durable_ns;
  // Bytes of the recorder's memory with its rings, fixed at open but for further rings.
  uint64_t memory_bytes;
  // Records that are still in rings: not durable yet, or (after baro_close) left in ring files
  // for the next open.
  uint64_t left;
  // Segments started.
  uint32_t segments_started;
  // Segments that had a failed write or sync.
  uint32_t segments_suspect;
  // Rings that are read.
  uint32_t rings;
  // Rings whose positions were impossible; nothing more is read from them.
  uint32_t rings_broken;
  // Segments that are there.
  uint32_t segments_grown;
  // Segments that are to be there. What keeps the log from growing is told by baro_complaints.
  uint32_t segments_target;
} baro_status;

// How a series or channel is declared.
typedef struct baro_declare_options {
  // sizeof(baro_declare_options)
  uint32_t type_size;
  // BARO_F64 (also 0), BARO_I64, BARO_BOOL, BARO_TEXT or BARO_CHANNEL.
  uint32_t value_type;
} baro_declare_options;

// One sample of a batch.
typedef struct baro_sample {
  // sizeof(baro_sample)
  uint32_t type_size;
  // Id of the series.
  uint32_t series;
  // Its time.
  int64_t time_ns;
  // The value of a series of type BARO_F64.
  double value;
  // The value of a series of any other type: the same bits.
  int64_t integer;
} baro_sample;

// Records lost, by cause.
typedef struct baro_gap {
  // sizeof(baro_gap)
  uint32_t type_size;
  // 0
  uint32_t reserved;
  // Refused because the ring was full.
  uint64_t ring_full;
  // Refused because they were larger than the ring takes.
  uint64_t too_large;
  // Discarded by the writer because the ring's contents were not valid.
  uint64_t damaged;
  // Missing without a cause that was counted.
  uint64_t unknown;
} baro_gap;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library that runs; compare with BARO_VERSION, which was compiled in.
uint32_t baro_version(void);

// The realtime clock, nanoseconds since the Unix epoch: a time for pushes. Does not block.
int64_t baro_now_ns(void);

// What went wrong in the last call of this thread that failed: what, where, the next step. Empty
// if none did. Valid until the next call of this thread that fails. Never null.
const char *baro_last_error(void);

// What a code means, in general. Never null; valid for ever.
const char *baro_strerror(int32_t code);

// Makes a store in the folder `store`, which is made too. Every byte of the log is written once,
// so that recording allocates nothing: blocks for as long as the device takes for that, or, with
// BARO_INIT_GROW, for two segments; the recorder adds the others then.
// `options` may be null.
int32_t baro_init(const char *store,
                  const struct baro_init_options *options);

// Keeps a window of time, from before_ns before now to after_ns after it, from being recycled;
// its id goes to `id`. Blocks until the pin is durable: not for the thread that must not wait.
// BARO_EACCES: it is refused, and baro_last_error says why; recording goes on.
int32_t baro_pin(const struct baro_recorder *recorder,
                 const struct baro_pin_options *options,
                 uint64_t *id);

// The same for the store in the folder `store`, into which another process records, or none: then
// the window ends with what was recorded, and after_ns counts for nothing. Needs no handle; may
// be called beside this process's own recorder too. Blocks until the pin is durable, or for 20 s
// if the recorder does not answer.
int32_t baro_pin_store(const char *store,
                       const struct baro_pin_options *options,
                       uint64_t *id);

// From now on, until the recorder is closed, pins a window whenever a value of the series of the
// name `series`, declared before, goes beyond `limit`: once for each crossing, and not again while
// the window of the last is open, which grows instead. The window is about the sample's time. The
// writer looks at the values (from a moment after this returns on, so watch before recording); a
// push costs what it did. A pin that is refused later is told by baro_complaints.
int32_t baro_pin_when(const struct baro_recorder *recorder,
                      const char *series,
                      uint32_t comparison_,
                      double limit,
                      const struct baro_pin_options *options);

// The number of pins of the recorder's store.
int32_t baro_pin_count(const struct baro_recorder *recorder);

// Pin number `index` by rising id, as it stands: returns 1 and fills `info`, or 0 if there are no
// more. What another process has pinned or released shows a moment later. Of a store without a recorder of this process see baro_reader_pin.
int32_t baro_pin_get(const struct baro_recorder *recorder,
                     size_t index,
                     struct baro_pin_info *info);

// Gives what a pin holds back to recycling; BARO_ENOENT if there is none of this id. Blocks until
// that is durable.
int32_t baro_pin_release(const struct baro_recorder *recorder,
                         uint64_t id);

// The same for the store in the folder `store`, as baro_pin_store.
int32_t baro_pin_release_store(const char *store, uint64_t id);

// Makes a ring with its producer, for this process. A recorder has at most 64 rings.
int32_t baro_producer_open(const struct baro_recorder *recorder,
                           struct baro_producer **producer);

// Becomes the producer of a ring that a recorder in another process made: see
// baro_ring_for_attach. Goes on with the sequence of the producer before.
int32_t baro_attach(const char *ring, struct baro_producer **producer);

// Frees the producer. What it pushed stays in the ring until it is durable.
int32_t baro_producer_close(struct baro_producer *producer);

// Pushes a frame of `channel`, taken at `time_ns`. `sequence` may be null. Never blocks, never
// enters the kernel. BARO_EAGAIN: the ring is full; the record is counted and will be a gap.
// No push looks an id up. The recorder does, before it writes: a record in which an id is declared
// with another type than it is pushed with, here and in all pushes below, is not recorded; it is
// counted in `lost` and will be a gap.
int32_t baro_push_frame(struct baro_producer *producer,
                        uint32_t channel,
                        int64_t time_ns,
                        const void *frame,
                        size_t frame_bytes,
                        uint64_t *sequence);

// Pushes a batch of `count` samples as columns, all taken at `time_ns`: values of series of type
// BARO_F64. Otherwise as baro_push_frame.
int32_t baro_push_samples(struct baro_producer *producer,
                          int64_t time_ns,
                          const uint32_t *series,
                          const double *values,
                          size_t count,
                          uint64_t *sequence);

// The same for series of any other type than BARO_F64.
int32_t baro_push_integers(struct baro_producer *producer,
                           int64_t time_ns,
                           const uint32_t *series,
                           const int64_t *values,
                           size_t count,
                           uint64_t *sequence);

// Pushes a batch of `count` samples as columns, each with a time of its own, in any order: values
// of series of type BARO_F64. Otherwise as baro_push_frame; BARO_EINVAL if there is none.
int32_t baro_push_batch(struct baro_producer *producer,
                        const int64_t *times_ns,
                        const uint32_t *series,
                        const double *values,
                        size_t count,
                        uint64_t *sequence);

// The same for series of any other type than BARO_F64 and BARO_TEXT.
int32_t baro_push_integer_batch(struct baro_producer *producer,
                                const int64_t *times_ns,
                                const uint32_t *series,
                                const int64_t *values,
                                size_t count,
                                uint64_t *sequence);

// Pushes one sample of a series of type BARO_TEXT: `text_bytes` of UTF-8, at most 65536, without a
// zero byte at the end. Otherwise as baro_push_frame; BARO_EINVAL if it is not UTF-8.
int32_t baro_push_text(struct baro_producer *producer,
                       uint32_t series,
                       int64_t time_ns,
                       const char *text,
                       size_t text_bytes,
                       uint64_t *sequence);

// Pushes one sample of a series of type BARO_F64. A batch costs less for each sample.
int32_t baro_push_sample(struct baro_producer *producer,
                         uint32_t series,
                         int64_t time_ns,
                         double value,
                         uint64_t *sequence);

// Pushes one sample of a series of any other type.
int32_t baro_push_integer(struct baro_producer *producer,
                          uint32_t series,
                          int64_t time_ns,
                          int64_t value,
                          uint64_t *sequence);

// Every sequence below *durable survives a power cut, or is a logged gap. Never blocks.
int32_t baro_producer_durable(const struct baro_producer *producer, uint64_t *durable);

// The ring's counters: what was refused, lost, written, durable. Never blocks.
int32_t baro_producer_report(const struct baro_producer *producer,
                             struct baro_ring_report *report);

// Puts the path of the ring's file into `buffer` of `room` bytes: another process can attach to
// it once this producer is closed. BARO_ENOTSUP if the ring is private memory.
int32_t baro_producer_path(const struct baro_producer *producer,
                           char *buffer,
                           size_t room);

// Waits until the record of this sequence is durable, or logged as a gap; BARO_ETIMEDOUT after
// `timeout_ns`. For producers that may wait, of this process or attached.
int32_t baro_producer_wait_durable(const struct baro_producer *producer,
                                   uint64_t sequence,
                                   uint64_t timeout_ns);

// Opens the store in the folder `store` for reading what is in the log now; also beside its
// recorder, which does not notice. Blocks for reading the headers of all blocks.
int32_t baro_reader_open(const char *store,
                         struct baro_reader **reader);

// The next record: returns 1 and fills `record` and `payload`, or 0 at the end. The payload has
// record->payload_bytes bytes, may have any alignment, and is valid until the next call on this
// reader. Blocks for the device. Damage is no error but counted: see baro_reader_report.
int32_t baro_reader_next(struct baro_reader *reader,
                         struct baro_record *record,
                         const void **payload);

// What the reader has met so far.
int32_t baro_reader_report(const struct baro_reader *reader,
                           struct baro_read_report *report);

// Series or channel number `index` of the catalog, in the order of declaration: returns 1 and
// fills `series`, or 0 if there are no more. Its name goes to `name` of `room` bytes (1025 hold
// every name); null if it is not wanted.
int32_t baro_reader_series(const struct baro_reader *reader,
                           size_t index,
                           struct baro_series *series,
                           char *name,
                           size_t room);

// The series or channel of this name.
int32_t baro_reader_find(const struct baro_reader *reader,
                         const char *name,
                         struct baro_series *series);

// Puts the field layout of the channel `name` into `buffer` of `room` bytes, in the text form that
// baro_declare takes. Returns 1, or 0 and an empty text if it has none.
int32_t baro_reader_layout(const struct baro_reader *reader,
                           const char *name,
                           char *buffer,
                           size_t room);

// The value of the field `name`, as in "channel.speed" or "channel.cell[2]", in the record that
// baro_reader_next handed out last: returns 1 and fills `value`, or 0 if that record is no frame
// of this channel, or one that ends before the field. Scaled as the layout says; integers beyond
// 2^53 are rounded, a bool is 0 or 1.
int32_t baro_field_get(const struct baro_reader *reader,
                       const char *name,
                       double *value);

// Pin number `index` of the store, by rising id, as it stood when the reader was opened: returns
// 1 and fills `info`, or 0 if there are no more. What it holds are the records with
// from_ns <= time_ns < to_ns.
int32_t baro_reader_pin(const struct baro_reader *reader,
                        size_t index,
                        struct baro_pin_info *info);

// Frees the reader.
int32_t baro_reader_close(struct baro_reader *reader);

// Opens the store in the folder `store` for recording: recovers what a crash left, takes over
// the rings of a killed recorder, starts the writer. Blocks for reading at most two segments.
// `options` may be null. What does not hold on this machine is told by baro_reservations.
int32_t baro_open(const char *store,
                  const struct baro_open_options *given,
                  struct baro_recorder **recorder);

// Makes what the rings hold durable, ends the writer and frees the recorder, whatever is
// returned but BARO_EINVAL. Blocks; a device that fails is given 5 s, one that is silent 2
// minutes. Pushes are refused from now on; producers are closed on their own, before or after.
// `status` may be null; its field left counts the records that could not be made durable.
int32_t baro_close(struct baro_recorder *recorder,
                   struct baro_status *status);

// The id of the series or channel `name`, declared durably if it is new: blocks for the device
// then, so declare before recording. `unit` may be null. `layout` says where values lie inside the
// frames of a channel, so that they are read back as series NAME.FIELD: null, or fields like
// "speed:f32@0,temp:i16be@4*0.1-40(degC),cell:u16[4]" (name:type@offset, then an array's elements,
// scale, bias and unit as wanted; without an offset behind the field before). A declared layout
// never changes. `options` may be null: a series of type BARO_F64.
int32_t baro_declare(const struct baro_recorder *recorder,
                     const char *name,
                     const char *unit,
                     const char *layout,
                     const struct baro_declare_options *options,
                     uint32_t *id);

// Ids of `count` series or channels, declared durably together where they are new: one wait for
// the device instead of one for each. `units` may be null, and so may be each of its texts;
// `types` may be null: all of type BARO_F64. On an error none is declared.
int32_t baro_declare_many(const struct baro_recorder *recorder,
                          const char *const *names,
                          const char *const *units,
                          const uint32_t *types,
                          size_t count,
                          uint32_t *ids);

// The writer's counters, as it last published them.
int32_t baro_status_get(const struct baro_recorder *recorder, struct baro_status *status);

// Puts into `buffer` of `room` bytes which promises do not hold on this machine, a sentence a
// line with what would grant it; empty if all hold. Returns the number of lines.
int32_t baro_reservations(const struct baro_recorder *recorder,
                          char *buffer,
                          size_t room);

// Puts into `buffer` of `room` bytes what goes wrong in the background, a sentence a line: the log
// cannot grow, a pin of baro_pin_when was refused, pinned segments cannot be copied; empty if
// nothing does. Returns the number of lines.
int32_t baro_complaints(const struct baro_recorder *recorder,
                        char *buffer,
                        size_t room);

// Makes a ring for a producer in another process and puts its path, for baro_attach there, into
// `buffer` of `room` bytes.
int32_t baro_ring_for_attach(const struct baro_recorder *recorder,
                             char *buffer,
                             size_t room);

// Waits until the record of this sequence of a producer (baro_ring_report has its id) is durable,
// or logged as a gap; BARO_ETIMEDOUT after `timeout_ns`. For any thread but the one that must
// not wait.
int32_t baro_wait_durable(const struct baro_recorder *recorder,
                          uint64_t producer,
                          uint64_t sequence,
                          uint64_t timeout_ns);

// Sample number `index` of a record of kind BARO_KIND_SAMPLES, whose time is `time_ns`. Returns 1,
// or 0 if there are no more.
int32_t baro_sample_get(const void *payload,
                        size_t payload_bytes,
                        int64_t time_ns,
                        size_t index,
                        struct baro_sample *sample);

// What a record of kind BARO_KIND_GAP says: how many were lost, by cause.
int32_t baro_gap_get(const void *payload, size_t payload_bytes, struct baro_gap *gap);

// Opens the samples of `name`, a series or a field of a channel as in "channel.speed", with
// from_ns <= time < to_ns (INT64_MIN and INT64_MAX for no bound): settled ones and those in the log,
// by rising time; of several of one time the one recorded last. `value_type` becomes BARO_F64,
// BARO_I64 (u64 fields too: the same bits), BARO_BOOL or BARO_TEXT. Works beside the store's recorder,
// which does not notice. Blocks for the device. Needs up to 512 MiB of memory where so much of the log
// waits to be settled, and about 6 MiB else.
int32_t baro_samples_open(const char *store,
                          const char *name,
                          int64_t from_ns,
                          int64_t to_ns,
                          struct baro_samples **samples,
                          uint32_t *value_type);

// The next sample: returns 1 and fills `sample`, or 0 at the end. Of a text only the time is in it:
// see baro_samples_text. Blocks for the device from time to time. Damage that was met is BARO_EIO; what
// follows it can still be read.
int32_t baro_samples_next(struct baro_samples *samples,
                          struct baro_sample *sample);

// The text of the sample that baro_samples_next handed out last: `text` has `bytes` bytes of UTF-8,
// no zero byte at their end, and is valid until the next call on these samples. Does not block.
int32_t baro_samples_text(struct baro_samples *samples,
                          const char **text,
                          size_t *bytes);

// Frees the samples.
int32_t baro_samples_close(struct baro_samples *samples);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BAROGRAPH_H */
