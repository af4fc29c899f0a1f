# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_baro_global_optspecs
    string join \n h/help V/version
end

function __fish_baro_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_baro_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_baro_using_subcommand
    set -l cmd (__fish_baro_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c baro -n "__fish_baro_needs_command" -s h -l help -d 'Print help'
complete -c baro -n "__fish_baro_needs_command" -s V -l version -d 'Print version'
complete -c baro -n "__fish_baro_needs_command" -f -a "init" -d 'Make a store'
complete -c baro -n "__fish_baro_needs_command" -f -a "record" -d 'Record into a store'
complete -c baro -n "__fish_baro_needs_command" -f -a "listen" -d 'Take samples over HTTP'
complete -c baro -n "__fish_baro_needs_command" -f -a "token" -d 'Tokens for HTTP'
complete -c baro -n "__fish_baro_needs_command" -f -a "import" -d 'Import samples from files'
complete -c baro -n "__fish_baro_needs_command" -f -a "pin" -d 'Keep a window of time'
complete -c baro -n "__fish_baro_needs_command" -f -a "delete" -d 'Take samples out for good'
complete -c baro -n "__fish_baro_needs_command" -f -a "settle" -d 'Move samples into runs'
complete -c baro -n "__fish_baro_needs_command" -f -a "lake" -d 'Hand over to Delta Lake'
complete -c baro -n "__fish_baro_needs_command" -f -a "rings" -d 'List and clear old rings'
complete -c baro -n "__fish_baro_needs_command" -f -a "info" -d 'Tell what a store holds'
complete -c baro -n "__fish_baro_needs_command" -f -a "list" -d 'List series and channels'
complete -c baro -n "__fish_baro_needs_command" -f -a "cat" -d 'Print all, by time'
complete -c baro -n "__fish_baro_needs_command" -f -a "query" -d 'Samples or means of series'
complete -c baro -n "__fish_baro_needs_command" -f -a "serve" -d 'Answer queries over HTTP'
complete -c baro -n "__fish_baro_needs_command" -f -a "export" -d 'Write CSV, MCAP, Parquet'
complete -c baro -n "__fish_baro_needs_command" -f -a "du" -d 'Bytes of each series'
complete -c baro -n "__fish_baro_needs_command" -f -a "watch" -d 'Watch what comes in'
complete -c baro -n "__fish_baro_needs_command" -f -a "top" -d 'Series that take most'
complete -c baro -n "__fish_baro_needs_command" -f -a "verify" -d 'Look for damage'
complete -c baro -n "__fish_baro_needs_command" -f -a "backup" -d 'Keep a second copy'
complete -c baro -n "__fish_baro_needs_command" -f -a "recover" -d 'Rescue a damaged store'
complete -c baro -n "__fish_baro_needs_command" -f -a "trace" -d 'Record what the kernel does'
complete -c baro -n "__fish_baro_needs_command" -f -a "explain" -d 'Say why calls were late'
complete -c baro -n "__fish_baro_needs_command" -f -a "blk" -d 'Watch a disk\'s traffic'
complete -c baro -n "__fish_baro_needs_command" -f -a "share" -d 'Share a disk by weight'
complete -c baro -n "__fish_baro_needs_command" -f -a "tune" -d 'Check and set the machine'
complete -c baro -n "__fish_baro_needs_command" -f -a "plan" -d 'Plan a recording'
complete -c baro -n "__fish_baro_needs_command" -f -a "demo" -d 'See it on this machine'
complete -c baro -n "__fish_baro_needs_command" -f -a "bench" -d 'Measure this machine'
complete -c baro -n "__fish_baro_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand init" -l size -d 'Size of the log, all of which is written now' -r
complete -c baro -n "__fish_baro_using_subcommand init" -l grow-to -d 'Size of the log, written while recording [default: 1G]' -r
complete -c baro -n "__fish_baro_using_subcommand init" -l plan -d 'Size of the log, and that it recycles, from what baro plan --format json has written' -r -F
complete -c baro -n "__fish_baro_using_subcommand init" -l when-full -d 'Of a store that is there: what a full log does from now on' -r -f -a "recycle\t'The oldest segment is reused'
stop\t'New records are refused'"
complete -c baro -n "__fish_baro_using_subcommand init" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand init" -l recycle -d 'When the log is full, reuse its oldest part'
complete -c baro -n "__fish_baro_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand record" -l config -d 'Read further options from this file' -r -F
complete -c baro -n "__fish_baro_using_subcommand record" -l init -d 'Make the store first if there is none' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l proc-interval -d 'Time between two readings of the kernel\'s counters' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l stdin -d 'Record what comes on stdin' -r -f -a "csv\t'Lines of time,series,value, or with a header that names the columns; an empty time means now'
json\t'Lines of {"time":..,"series":..,"value":..} or {"time":..,NAME:VALUE,..}'
influx\t'Lines of the Influx line protocol'
prometheus\t'Lines of Prometheus and OpenMetrics, as exporters show them'
raw\t'Frames of --frame-bytes, one after another'
frames\t'Frames with their length before them: u32, little-endian'"
complete -c baro -n "__fish_baro_using_subcommand record" -l plain-size -d 'With --plain: bytes of a file, after which the next follows' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l precision -d 'Unit of times that are integers: s, ms, us or ns' -r -f -a "ns\t'Nanoseconds'
us\t'Microseconds'
ms\t'Milliseconds'
s\t'Seconds'"
complete -c baro -n "__fish_baro_using_subcommand record" -l zone -d 'Zone of times that have none: UTC, +01:00, Europe/Berlin' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l columns -d 'What columns of CSV or Parquet, or keys of JSON, are, by their names' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l interval -d 'Time between two generated frames' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l frame-bytes -d 'Size of generated frames, and of raw frames on stdin' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l channel -d 'Channel of frames on stdin' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l udp -d 'Record datagrams to this address and port: JSON or CSV' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l udp-frames -d 'Each datagram is a frame of this channel instead' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l udp-series -d 'Take a new series from a datagram only while the store has fewer than this in all' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l udp-buffer -d 'The kernel\'s buffer of each address' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l http -d 'Take line protocol, remote write and OTLP over HTTP' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l http-tokens -d 'File of tokens for --http, made by `baro token`' -r -F
complete -c baro -n "__fish_baro_using_subcommand record" -l http-tls-cert -d 'Certificate of TLS for --http, in PEM' -r -F
complete -c baro -n "__fish_baro_using_subcommand record" -l http-tls-key -d 'Its private key, in PEM' -r -F
complete -c baro -n "__fish_baro_using_subcommand record" -l attach -d 'Make this many rings for other programs' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l declare -d 'Declare a series or channel before anything comes; types: f64, i64, bool, channel' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l layout -d 'Fields of a channel\'s frames, read back as series CHANNEL.FIELD: [CHANNEL=]NAME:TYPE[be][[N]][@OFFSET][*SCALE][+BIAS][(UNIT)],...; without CHANNEL those of --channel' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l for -d 'Stop after this time' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l ring -d 'Memory of each source\'s ring [default: 16M]' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l rings -d 'Folder for the rings, on a tmpfs' -r -F
complete -c baro -n "__fish_baro_using_subcommand record" -l durable-within -d 'Bound on the time from push to surviving a power cut' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l cpu -d 'Processor of the writer\'s threads' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l fifo -d 'SCHED_FIFO priority of writer and sources' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l keep-bytes -d 'Use at most this much of the log, then reuse the oldest part of it' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l keep -d 'Recycle nothing younger than this' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l min-free -d 'Let the log grow only as long as its file system has this much free' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l keep-runs -d 'Drop settled samples that are older than this' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l runs-size -d 'Drop the oldest runs while all together are larger than this' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l pin-when -d 'Pin a window when a value crosses a limit: \'temp>90\'' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l pin-before -d 'How far such a window, or one asked for by SIGUSR1, reaches back' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l pin-after -d 'How far it goes on' -r
complete -c baro -n "__fish_baro_using_subcommand record" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand record" -l check -d 'Say what is wrong with the settings, and touch nothing'
complete -c baro -n "__fish_baro_using_subcommand record" -l recycle -d 'With --init: when full, reuse the oldest part'
complete -c baro -n "__fish_baro_using_subcommand record" -l proc -d 'Record this machine\'s kernel counters'
complete -c baro -n "__fish_baro_using_subcommand record" -l plain -d 'Write stdin into an ordinary file of this name, and no store'
complete -c baro -n "__fish_baro_using_subcommand record" -l decimal-comma -d 'Numbers in CSV have a comma for their decimals'
complete -c baro -n "__fish_baro_using_subcommand record" -l generate -d 'Record generated control frames that can be verified'
complete -c baro -n "__fish_baro_using_subcommand record" -l udp-network -d 'Allow addresses that other machines reach'
complete -c baro -n "__fish_baro_using_subcommand record" -l udp-declared-only -d 'Take no new series from datagrams, only those that are declared'
complete -c baro -n "__fish_baro_using_subcommand record" -l http-require-token -d 'Ask for a token at addresses of this machine too'
complete -c baro -n "__fish_baro_using_subcommand record" -l http-insecure-without-tls -d 'Let --http listen to other machines without encryption'
complete -c baro -n "__fish_baro_using_subcommand record" -l buffered -d 'Write through the page cache even where direct I/O is possible'
complete -c baro -n "__fish_baro_using_subcommand record" -l no-settle -d 'Leave samples in the log instead of moving them to runs in the background'
complete -c baro -n "__fish_baro_using_subcommand record" -l short-queue -d 'Make the queue of the store\'s device short while recording'
complete -c baro -n "__fish_baro_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand listen" -l http -d 'Take requests at this address and port' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l tokens -d 'File of tokens, made by `baro token`' -r -F
complete -c baro -n "__fish_baro_using_subcommand listen" -l tls-cert -d 'Certificate for TLS, with its chain, in PEM' -r -F
complete -c baro -n "__fish_baro_using_subcommand listen" -l tls-key -d 'Its private key, in PEM' -r -F
complete -c baro -n "__fish_baro_using_subcommand listen" -l db -d 'Take samples for this database or bucket alone' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l rings -d 'Folder that the recorder was given with --rings' -r -F
complete -c baro -n "__fish_baro_using_subcommand listen" -l lanes -d 'Rings to push into at once, each of which the recorder has to offer' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l connections -d 'Connections at once' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l body -d 'Largest body of a request, unpacked' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l in-flight -d 'Memory for requests that are under way' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l connections-per-address -d 'Connections at once from one address (default: half of all)' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l stall -d 'A client that sends nothing, or takes nothing, for so long is given up' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l series -d 'Take new series only while the store has fewer than this in all' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l series-per-token -d 'The same for the series that begin with the prefix of one token' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l wait -d 'Wait so long for room in the ring, and for the disk, then answer 503' -r
complete -c baro -n "__fish_baro_using_subcommand listen" -l require-token -d 'Ask for a token at addresses of this machine too'
complete -c baro -n "__fish_baro_using_subcommand listen" -l insecure-without-tls -d 'Listen to other machines without encryption'
complete -c baro -n "__fish_baro_using_subcommand listen" -l end-with-parent -d 'End when the program that has started it ends'
complete -c baro -n "__fish_baro_using_subcommand listen" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand token; and not __fish_seen_subcommand_from new list revoke help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand token; and not __fish_seen_subcommand_from new list revoke help" -f -a "new" -d 'Make a token'
complete -c baro -n "__fish_baro_using_subcommand token; and not __fish_seen_subcommand_from new list revoke help" -f -a "list" -d 'List tokens'
complete -c baro -n "__fish_baro_using_subcommand token; and not __fish_seen_subcommand_from new list revoke help" -f -a "revoke" -d 'Revoke a token'
complete -c baro -n "__fish_baro_using_subcommand token; and not __fish_seen_subcommand_from new list revoke help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from new" -l access -d 'What it allows' -r -f -a "write\t'To write samples, and nothing else'
read\t'To read, and nothing else'
admin\t'Both'"
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from new" -l prefix -d 'Only for series whose names begin so' -r
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from new" -l tokens -d 'The file' -r -F
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from new" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from list" -l tokens -d 'The file' -r -F
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from list" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from revoke" -l tokens -d 'The file' -r -F
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from revoke" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "new" -d 'Make a token'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "list" -d 'List tokens'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'Revoke a token'
complete -c baro -n "__fish_baro_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand import" -l input -d 'What the files hold; without it by their names' -r -f -a "csv\t'Lines of time,series,value, or with a header that names the columns'
json\t'JSON lines, as baro query --format ndjson writes them'
parquet\t'Columns series, time and value, or time and one column for each series'
influx\t'The Influx line protocol'
prometheus\t'Text of Prometheus and OpenMetrics, as promtool dumps it and exporters show it'"
complete -c baro -n "__fish_baro_using_subcommand import" -l precision -d 'Unit of times that are integers: s, ms, us or ns' -r -f -a "ns\t'Nanoseconds'
us\t'Microseconds'
ms\t'Milliseconds'
s\t'Seconds'"
complete -c baro -n "__fish_baro_using_subcommand import" -l zone -d 'Zone of times that have none: UTC, +01:00, Europe/Berlin' -r
complete -c baro -n "__fish_baro_using_subcommand import" -l columns -d 'What columns of CSV or Parquet, or keys of JSON, are, by their names' -r
complete -c baro -n "__fish_baro_using_subcommand import" -l format -d 'How counts are printed: text or json' -r -f -a "text\t'Counts for people'
json\t'Counts as JSON'
csv\t'The same as --input csv'
parquet\t'The same as --input parquet'
influx\t'The same as --input influx'"
complete -c baro -n "__fish_baro_using_subcommand import" -l decimal-comma -d 'Numbers in CSV have a comma for their decimals'
complete -c baro -n "__fish_baro_using_subcommand import" -l strict -d 'Stop at the first line that is refused'
complete -c baro -n "__fish_baro_using_subcommand import" -l dry-run -d 'Say what would be taken and what refused, and write nothing'
complete -c baro -n "__fish_baro_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand pin" -l before -d 'How far the window reaches back' -r
complete -c baro -n "__fish_baro_using_subcommand pin" -l after -d 'How far it goes on' -r
complete -c baro -n "__fish_baro_using_subcommand pin" -l name -d 'A name for it' -r
complete -c baro -n "__fish_baro_using_subcommand pin" -l release -d 'Release the pin of this id or name instead' -r
complete -c baro -n "__fish_baro_using_subcommand pin" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand pin" -l list -d 'List the store\'s pins instead'
complete -c baro -n "__fish_baro_using_subcommand pin" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand delete" -l from -d 'From this time on: a date, a time of day, or how long ago' -r
complete -c baro -n "__fish_baro_using_subcommand delete" -l to -d 'Up to this time, exclusive' -r
complete -c baro -n "__fish_baro_using_subcommand delete" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand delete" -l dry-run -d 'Tell what would go, and change nothing'
complete -c baro -n "__fish_baro_using_subcommand delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand settle" -l keep-runs -d 'Drop runs that are older than this' -r
complete -c baro -n "__fish_baro_using_subcommand settle" -l runs-size -d 'Drop the oldest runs while all together are larger than this' -r
complete -c baro -n "__fish_baro_using_subcommand settle" -l min-free -d 'Drop the oldest runs while the file system has less free than this' -r
complete -c baro -n "__fish_baro_using_subcommand settle" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand settle" -l all -d 'Settle also what is too little for a run worth writing'
complete -c baro -n "__fish_baro_using_subcommand settle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand lake" -l every -d 'Go on: look for what has settled since, so often' -r
complete -c baro -n "__fish_baro_using_subcommand lake" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand lake" -l skip-damaged -d 'Hand over what can be read of damaged runs, and count them as handed over'
complete -c baro -n "__fish_baro_using_subcommand lake" -l release -d 'Stop keeping runs for the table that it has not got yet'
complete -c baro -n "__fish_baro_using_subcommand lake" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand rings" -l rings -d 'Where record was told to have its rings' -r -F
complete -c baro -n "__fish_baro_using_subcommand rings" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand rings" -l clear -d 'Remove those that nobody needs'
complete -c baro -n "__fish_baro_using_subcommand rings" -l with-records -d 'With --clear: those too that hold records which are nowhere else'
complete -c baro -n "__fish_baro_using_subcommand rings" -l adopt -d 'Give the rings of this id to this store'
complete -c baro -n "__fish_baro_using_subcommand rings" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand info" -l tbw -d 'What the device is made for, in TB written' -r
complete -c baro -n "__fish_baro_using_subcommand info" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand list" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand list" -l counts -d 'Also count rows and bytes, which reads the whole log'
complete -c baro -n "__fish_baro_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand cat" -l from -d 'From this time on: 2026-11-21, 21:03, 1h (ago)' -r
complete -c baro -n "__fish_baro_using_subcommand cat" -l to -d 'Up to this time, exclusive' -r
complete -c baro -n "__fish_baro_using_subcommand cat" -l last -d 'Only the last N rows of each of the series named' -r
complete -c baro -n "__fish_baro_using_subcommand cat" -l format -d 'How rows are printed' -r -f -a "text\t'Time, name and value, for people'
json\t'One JSON object a line'
csv\t'time,series,value with times in nanoseconds: can be recorded again'
raw\t'The bytes of frames, one after another'"
complete -c baro -n "__fish_baro_using_subcommand cat" -l follow -d 'Go on with what is recorded from now on, until Ctrl-C'
complete -c baro -n "__fish_baro_using_subcommand cat" -l data-only -d 'Leave out gaps and clock steps'
complete -c baro -n "__fish_baro_using_subcommand cat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand query" -l promql -d 'PromQL instead of series: \'sum by (site) (temp)\'' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l lookback -d 'With --promql: how long a sample counts where none follows; without it 5m' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l from -d 'From this time on: 2026-11-21, 21:03, 1h (ago)' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l to -d 'Up to this time, exclusive' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l every -d 'One value for each step of time: 10m, 1d, 1w, 1mo' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l zone -d 'Zone whose days, weeks, months and years steps are: Europe/Berlin' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l offset -d 'Steps start so much later: --every 1d --offset 6h' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l agg -d 'What the samples of a step, or of all, become: max, p99.9, rate' -r -f -a "mean\t'Arithmetic mean'
min\t'Least value'
max\t'Greatest value'
sum\t'Sum'
count\t'Number of samples'
first\t'Value of the earliest sample'
last\t'Value of the latest sample'
median\t'Middle one of the values by size'
p99\t'99th percentile; any from p0 to p100, such as p99.9'
stddev\t'Standard deviation'
increase\t'How much a counter has risen; what falls was set back to zero'
rate\t'The same by second'
delta\t'Difference to the sample before the step'
time-mean\t'Mean over time: a value holds until the next one'"
complete -c baro -n "__fish_baro_using_subcommand query" -l fill -d 'What a step without a sample has; without it no row' -r -f -a "previous\t'The value before it, also from before --from'
zero\t'Zero'"
complete -c baro -n "__fish_baro_using_subcommand query" -l last -d 'Only the last N rows of each series' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l limit -d 'At most N rows in all' -r
complete -c baro -n "__fish_baro_using_subcommand query" -l format -d 'Form of the rows' -r -f -a "table\t'Aligned columns, for people'
text\t'Time, series, value and unit, two blanks between them'
csv\t'time,series,value with times in nanoseconds: can be recorded again'
json\t'An array of objects'
ndjson\t'One JSON object a line: can be recorded again'
arrow\t'An Arrow IPC stream: columns series, time, value'
parquet\t'A Parquet file: columns series, time, value'"
complete -c baro -n "__fish_baro_using_subcommand query" -s o -l output -d 'The file to make; without it stdout' -r -F
complete -c baro -n "__fish_baro_using_subcommand query" -l force -d 'Replace the file if it is there'
complete -c baro -n "__fish_baro_using_subcommand query" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand serve" -l http -d 'Address to listen at: 127.0.0.1:9090' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l tokens -d 'File of tokens, made by `baro token`; those that read are let in' -r -F
complete -c baro -n "__fish_baro_using_subcommand serve" -l tls-cert -d 'Certificate for TLS, with its chain, in PEM' -r -F
complete -c baro -n "__fish_baro_using_subcommand serve" -l tls-key -d 'Its private key, in PEM' -r -F
complete -c baro -n "__fish_baro_using_subcommand serve" -l lookback -d 'How long a sample counts where none follows' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l timeout -d 'Longest query' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l memory -d 'Memory of a query' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l connections -d 'Connections at once' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l viewers -d 'Pages that are shown the store live at once, and as many sockets' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l origin -d 'Let web pages of this origin ask and open the live socket: `https://app.foxglove.dev`' -r
complete -c baro -n "__fish_baro_using_subcommand serve" -l require-token -d 'Ask for a token at addresses of this machine too'
complete -c baro -n "__fish_baro_using_subcommand serve" -l insecure-without-tls -d 'Listen to other machines without encryption'
complete -c baro -n "__fish_baro_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand export" -l from -d 'From this time on: 2026-11-21, 21:03, 1h (ago)' -r
complete -c baro -n "__fish_baro_using_subcommand export" -l to -d 'Up to this time, exclusive' -r
complete -c baro -n "__fish_baro_using_subcommand export" -l pin -d 'The window of this pin instead: its name or id' -r
complete -c baro -n "__fish_baro_using_subcommand export" -l series -d 'Only this: a name, \'cpu_*\', CHANNEL.FIELD, \'temp{site="a"}\'' -r
complete -c baro -n "__fish_baro_using_subcommand export" -l output -d 'Form of the file; without it by the file\'s name' -r -f -a "csv\t'Lines of time,series,value; frames only as the fields of their layout'
mcap\t'For Foxglove and other robotics tools: JSON messages with schemas; frames as they are, and with a layout their fields too'
parquet\t'Columns series, time and value, sorted by series and time; frames only as fields'
arrow\t'The same columns as an Arrow IPC stream'"
complete -c baro -n "__fish_baro_using_subcommand export" -l partition-by -d 'One Parquet file for each day' -r -f -a "date\t'A folder date=YYYY-MM-DD for each day (UTC) that has samples'"
complete -c baro -n "__fish_baro_using_subcommand export" -l time-unit -d 'Unit of times in Parquet and Arrow: ns, or us for Spark, which has no nanoseconds' -r -f -a "ns\t'Nanoseconds'
us\t'Microseconds, and a column ns with the rest of each'"
complete -c baro -n "__fish_baro_using_subcommand export" -l rate -d 'Bytes of the store read a second at most' -r
complete -c baro -n "__fish_baro_using_subcommand export" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand export" -l force -d 'Replace the file if it is there'
complete -c baro -n "__fish_baro_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand du" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand du" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand watch" -l every -d 'Between two looks' -r
complete -c baro -n "__fish_baro_using_subcommand watch" -l by -d 'Which series come first: rate, unless some are named' -r -f -a "rate\t'Those of which most came'
age\t'Those that were declared first'"
complete -c baro -n "__fish_baro_using_subcommand watch" -l count -d 'End after so many looks' -r
complete -c baro -n "__fish_baro_using_subcommand watch" -l format -d 'text or json, where it goes into a file or a pipe' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand top" -s n -d 'How many' -r
complete -c baro -n "__fish_baro_using_subcommand top" -l by -d 'What is counted' -r -f -a "bytes\t'Bytes in the store, estimated'
samples\t'Samples or frames'
rate\t'Samples a second from its first to its last'"
complete -c baro -n "__fish_baro_using_subcommand top" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand verify" -l rate -d 'Bytes read a second at most' -r
complete -c baro -n "__fish_baro_using_subcommand verify" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand verify" -l direct -d 'Read from the device itself, past the page cache'
complete -c baro -n "__fish_baro_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand backup" -l keep-runs -d 'Leave out settled samples that are older than this' -r
complete -c baro -n "__fish_baro_using_subcommand backup" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand backup" -l no-verify -d 'Do not read the copy again at the end'
complete -c baro -n "__fish_baro_using_subcommand backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand recover" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -s o -l out -d 'The trace [default: baro-TIME.trace in this folder]' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l for -d 'Stop after this time; else at Ctrl-C' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -s p -l pid -d 'Tell only of this process' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l buffer -d 'Memory of the kernel for each processor' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l ring -d 'Keep the last TIME in memory, write it at a slow call' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l over -d 'With --ring: a call is slow if it waited this long' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l ring-memory -d 'With --ring: memory for what is kept' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l keep -d 'Of traces of the default name in the folder of --out, whole or broken off, keep so many and remove older ones' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l system -d 'Tell of all processes: the default without a command'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -l with-parent -d 'End when whoever started this ends'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "handle" -d 'Waits for handles of a journal'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "state" -d 'Stages of a journal\'s transactions'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "blocks" -d 'Blocks of each transaction'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "space" -d 'Room in a journal over time'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "syscall" -d 'System calls of each task'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "waits" -d 'Where tasks waited, and who woke them'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "install" -d 'A service that traces slow calls'
complete -c baro -n "__fish_baro_using_subcommand trace; and not __fish_seen_subcommand_from handle state blocks space syscall waits install help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l for -d 'Record this machine for this time, and tell of it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l buffer -d 'Memory of the kernel for each processor while it records' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l top -d 'Rows of a table at most' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l device -d 'Only the journal of this device: its name, or MAJOR:MINOR' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l series -d 'Also each event: rows in a .csv or .json, a picture in a .svg' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -l force -d 'Replace that file if it is there'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from handle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l for -d 'Record this machine for this time, and tell of it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l buffer -d 'Memory of the kernel for each processor while it records' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l top -d 'Rows of a table at most' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l device -d 'Only the journal of this device: its name, or MAJOR:MINOR' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l series -d 'Also each event: rows in a .csv or .json, a picture in a .svg' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -l force -d 'Replace that file if it is there'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from state" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l for -d 'Record this machine for this time, and tell of it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l buffer -d 'Memory of the kernel for each processor while it records' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l top -d 'Rows of a table at most' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l device -d 'Only the journal of this device: its name, or MAJOR:MINOR' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l series -d 'Also each event: rows in a .csv or .json, a picture in a .svg' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -l force -d 'Replace that file if it is there'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from blocks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l for -d 'Record this machine for this time, and tell of it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l buffer -d 'Memory of the kernel for each processor while it records' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l top -d 'Rows of a table at most' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l device -d 'Only the journal of this device: its name, or MAJOR:MINOR' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l series -d 'Also each event: rows in a .csv or .json, a picture in a .svg' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l journal-blocks -d 'Size of the journal where the trace does not tell it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -l force -d 'Replace that file if it is there'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from space" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -l for -d 'Record this machine for this time, and tell of it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -l buffer -d 'Memory of the kernel for each processor while it records' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -l top -d 'Rows of a table at most' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -s p -l pid -d 'Only this process and those it made; else those that the trace is about' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -l system -d 'All processes, whatever the trace is about'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from syscall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -l for -d 'Record this machine for this time, and tell of it' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -l collector -d 'How events are recorded' -r -f -a "auto\t'Probes where the kernel has what they need, else the tracer alone'
tracefs\t'The kernel\'s tracer alone: any kernel with tracefs; every event, and so the dearer'
btf\t'Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is rare: Linux 5.18 on'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -l buffer -d 'Memory of the kernel for each processor while it records' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -l top -d 'Rows of a table at most' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -s p -l pid -d 'Only this process and those it made; else those that the trace is about' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -l system -d 'All processes, whatever the trace is about'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from waits" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l over -d 'A call is slow if it waited this long' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l ring -d 'How much before a slow call is in its trace' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l keep -d 'Traces that are kept; older ones are removed' -r
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l folder -d 'Where traces go; made if it is not there' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l root -d 'Install below this folder, which becomes / of another machine' -r -F
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l remove -d 'Undo it: stop the service and remove its unit; traces stay'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l print -d 'Only show the unit'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -l replace -d 'Also replace or remove a unit of this name that we did not write'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "handle" -d 'Waits for handles of a journal'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "state" -d 'Stages of a journal\'s transactions'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "blocks" -d 'Blocks of each transaction'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "space" -d 'Room in a journal over time'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "syscall" -d 'System calls of each task'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "waits" -d 'Where tasks waited, and who woke them'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "install" -d 'A service that traces slow calls'
complete -c baro -n "__fish_baro_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand explain" -l kernel-log -d 'Instead of a trace: the kernel\'s log with its reports of hung tasks (or of sysrq-w), as dmesg or journalctl -k write it; without FILE this machine\'s own, - is stdin' -r -F
complete -c baro -n "__fish_baro_using_subcommand explain" -l over -d 'Only calls that waited this long' -r
complete -c baro -n "__fish_baro_using_subcommand explain" -l top -d 'Tell of so many, the longest' -r
complete -c baro -n "__fish_baro_using_subcommand explain" -s p -l pid -d 'Only calls of this process and those it made' -r
complete -c baro -n "__fish_baro_using_subcommand explain" -l html -d 'Also write one page with plots, for any browser' -r -F
complete -c baro -n "__fish_baro_using_subcommand explain" -l perfetto -d 'Also write a trace for ui.perfetto.dev' -r -F
complete -c baro -n "__fish_baro_using_subcommand explain" -l for -d 'With --prove: record so long each time' -r
complete -c baro -n "__fish_baro_using_subcommand explain" -l state-dir -d 'With --prove: folder of the journal' -r -F
complete -c baro -n "__fish_baro_using_subcommand explain" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand explain" -l system -d 'Calls of all processes, whatever the trace is about'
complete -c baro -n "__fish_baro_using_subcommand explain" -l force -d 'With --html or --perfetto: replace the file if it is there'
complete -c baro -n "__fish_baro_using_subcommand explain" -l prove -d 'Try what is advised, and tell if it helps (root)'
complete -c baro -n "__fish_baro_using_subcommand explain" -l yes -d 'With --prove: do not ask'
complete -c baro -n "__fish_baro_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand blk" -l device -d 'Only this disk: sda, /dev/sda' -r -F
complete -c baro -n "__fish_baro_using_subcommand blk" -l for -d 'For how long; until Ctrl-C without it' -r
complete -c baro -n "__fish_baro_using_subcommand blk" -s p -l pid -d 'The application is this process' -r
complete -c baro -n "__fish_baro_using_subcommand blk" -l buffer -d 'Memory of the kernel for events, for each processor' -r
complete -c baro -n "__fish_baro_using_subcommand blk" -l file -d 'Read a trace of Barograph' -r -F
complete -c baro -n "__fish_baro_using_subcommand blk" -l blktrace -d 'Read files of blktrace, one for each processor' -r -F
complete -c baro -n "__fish_baro_using_subcommand blk" -l blkparse -l text -d 'Read text of blkparse, perf script, trace-cmd report or the kernel\'s file trace, whichever it is; - is stdin' -r -F
complete -c baro -n "__fish_baro_using_subcommand blk" -l by -d 'Rows of the result' -r -f -a "device\t'One for each disk'
process\t'One for each process on each disk'"
complete -c baro -n "__fish_baro_using_subcommand blk" -l tbw -d 'How long the disk lasts, of TB that may be written' -r
complete -c baro -n "__fish_baro_using_subcommand blk" -l application-bytes -d 'Bytes that the application has written, if nobody else can tell' -r
complete -c baro -n "__fish_baro_using_subcommand blk" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand blk" -l sync -d 'Write what is dirty on the disk\'s file systems before the interval and at its end'
complete -c baro -n "__fish_baro_using_subcommand blk" -l raw -d 'Classes as the kernel has them, with F (flush, force unit access) and A (ahead)'
complete -c baro -n "__fish_baro_using_subcommand blk" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand share; and not __fish_seen_subcommand_from run hold status install help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand share; and not __fish_seen_subcommand_from run hold status install help" -f -a "run" -d 'Run a command in a group of its own, with a weight'
complete -c baro -n "__fish_baro_using_subcommand share; and not __fish_seen_subcommand_from run hold status install help" -f -a "hold" -d 'Hold all groups of a profile until told to end'
complete -c baro -n "__fish_baro_using_subcommand share; and not __fish_seen_subcommand_from run hold status install help" -f -a "status" -d 'What each group was asked to have, and what it has'
complete -c baro -n "__fish_baro_using_subcommand share; and not __fish_seen_subcommand_from run hold status install help" -f -a "install" -d 'A service that holds the groups of a profile from boot on'
complete -c baro -n "__fish_baro_using_subcommand share; and not __fish_seen_subcommand_from run hold status install help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l weight -d 'Weight of the group against others: 1 to 1000' -r
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l name -d 'Name of the group [default: the command\'s]' -r
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l on -d 'A disk, or a folder on it [default: the current folder]' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l piece -d 'Largest piece of a direct I/O: auto, off or 8M' -r
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l pid -d 'Also put this running process into the group' -r
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l run-dir -d 'Folder of the groups, on a tmpfs' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l state-dir -d 'Folder of the journal of settings' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -l strict -d 'One request at a time on the disk'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from hold" -l run-dir -d 'Folder of the groups, on a tmpfs' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from hold" -l state-dir -d 'Folder of the journal of settings' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from hold" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from hold" -l strict -d 'One request at a time on the disks'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from hold" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from status" -l for -d 'For how long shares are measured' -r
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from status" -l run-dir -d 'Folder of the groups, on a tmpfs' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from status" -l state-dir -d 'Folder of the journal of settings' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from status" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from status" -l watch -d 'Again and again, until Ctrl-C'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from install" -l root -d 'Install below this folder, which becomes / of another machine' -r -F
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from install" -l remove -d 'Undo it: stop the service, remove its unit and the drop-ins'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from install" -l print -d 'Only show the files'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from install" -l replace -d 'Also replace or remove files of these names that we did not write'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a command in a group of its own, with a weight'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from help" -f -a "hold" -d 'Hold all groups of a profile until told to end'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from help" -f -a "status" -d 'What each group was asked to have, and what it has'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from help" -f -a "install" -d 'A service that holds the groups of a profile from boot on'
complete -c baro -n "__fish_baro_using_subcommand share; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand tune; and not __fish_seen_subcommand_from check apply undo show help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand tune; and not __fish_seen_subcommand_from check apply undo show help" -f -a "check" -d 'Say what a recorder needs of this machine'
complete -c baro -n "__fish_baro_using_subcommand tune; and not __fish_seen_subcommand_from check apply undo show help" -f -a "apply" -d 'Set it, and put it back at the end'
complete -c baro -n "__fish_baro_using_subcommand tune; and not __fish_seen_subcommand_from check apply undo show help" -f -a "undo" -d 'Put settings back that are kept or were left'
complete -c baro -n "__fish_baro_using_subcommand tune; and not __fish_seen_subcommand_from check apply undo show help" -f -a "show" -d 'Show it as text for each boot'
complete -c baro -n "__fish_baro_using_subcommand tune; and not __fish_seen_subcommand_from check apply undo show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from check" -l ring -d 'Memory of the ring that will be locked' -r
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from check" -l root -d 'What stands for / before /proc and /sys: a machine made of files, to try things' -r -F
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from check" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from check" -l probe -d 'Count the journal handles that write() takes in STORE'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l ring -d 'Memory of the ring that will be locked' -r
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l root -d 'What stands for / before /proc and /sys: a machine made of files, to try things' -r -F
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l only -d 'Only this row of the check, by its key or name' -r
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l state-dir -d 'Folder of the journal' -r -F
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l machine-wide -d 'Also settings that concern the whole machine'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l dry-run -d 'Say what would be set, and set nothing'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -l keep -d 'Leave it set when this ends'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from undo" -l state-dir -d 'Folder of the journal' -r -F
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from undo" -l root -d 'What stands for / before /proc and /sys: a machine made of files, to try things' -r -F
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from undo" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from undo" -l force -d 'Also where somebody else has changed a setting since'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from show" -l ring -d 'Memory of the ring that will be locked' -r
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from show" -l root -d 'What stands for / before /proc and /sys: a machine made of files, to try things' -r -F
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from show" -l as -d 'Only these; else all' -r -f -a "sysctl\t'/etc/sysctl.d'
fstab\t'/etc/fstab'
udev\t'/etc/udev/rules.d'
systemd\t'A drop-in for the recorder\'s unit, and /etc/tmpfiles.d'"
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from show" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "check" -d 'Say what a recorder needs of this machine'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Set it, and put it back at the end'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "undo" -d 'Put settings back that are kept or were left'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show it as text for each boot'
complete -c baro -n "__fish_baro_using_subcommand tune; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand plan" -l sensors -d 'Sensors, or channels of frames' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l rate -d 'Samples of each a second: 10, 10Hz, 1/10s' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l frame -d 'Frames of this size instead of samples' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l values -d 'walk, sensor (default), counter, state, float' -r -f -a "walk\t'A walk in a dozen small steps, in decimals'
sensor\t'Decimals with some noise'
counter\t'A counter'
state\t'On and off, seldom'
float\t'Floats that are no short decimals'"
complete -c baro -n "__fish_baro_using_subcommand plan" -l jitter -d 'Offset from a common clock' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l per-push -d 'Samples that one push brings' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l durable-within -d 'From push to durable' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l stall -d 'Stall that loses nothing' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l keep -d 'How long all is kept' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l memory -d 'Memory for it' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l disk -d 'Size of the file system' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l disk-rate -d 'Bytes it writes a second' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l kind -d 'hdd, ssd or card' -r -f -a "hdd\t'It turns'
ssd\t'Solid state'
card\t'eMMC or SD'"
complete -c baro -n "__fish_baro_using_subcommand plan" -l tbw -d 'What the flash may be written in all' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l years -d 'Years that the flash has to last' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l value-bits -d 'Bits of information in a value, instead of --values' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l spread-bits -d 'Bits in which sensors differ from one another, instead of --values' -r
complete -c baro -n "__fish_baro_using_subcommand plan" -l svg -d 'Also a picture of bytes to the device' -r -F
complete -c baro -n "__fish_baro_using_subcommand plan" -l format -d 'text or json, for baro init' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand plan" -l force -d 'Replace the picture if it is there'
complete -c baro -n "__fish_baro_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand demo" -l dir -d 'Folder to work in, made and removed' -r -F
complete -c baro -n "__fish_baro_using_subcommand demo" -l for -d 'How long' -r
complete -c baro -n "__fish_baro_using_subcommand demo" -l svg -d 'Picture of the latencies' -r -F
complete -c baro -n "__fish_baro_using_subcommand demo" -l device -d 'The disk to record on; a slow one is modelled where that can be done' -r -f -a "none\t'The one that the folder is on'
emmc\t'A modelled one in that folder: 12 MB/s written, 40 MB/s read (root)'"
complete -c baro -n "__fish_baro_using_subcommand demo" -l keep -d 'Leave the store behind, to look into it; on the disk as it is'
complete -c baro -n "__fish_baro_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand bench; and not __fish_seen_subcommand_from recorder push store load help" -s h -l help -d 'Print help'
complete -c baro -n "__fish_baro_using_subcommand bench; and not __fish_seen_subcommand_from recorder push store load help" -f -a "recorder" -d 'How long write() keeps a recorder waiting'
complete -c baro -n "__fish_baro_using_subcommand bench; and not __fish_seen_subcommand_from recorder push store load help" -f -a "push" -d 'What a push costs'
complete -c baro -n "__fish_baro_using_subcommand bench; and not __fish_seen_subcommand_from recorder push store load help" -f -a "store" -d 'A store of any number of sensors'
complete -c baro -n "__fish_baro_using_subcommand bench; and not __fish_seen_subcommand_from recorder push store load help" -f -a "load" -d 'Keep a disk busy'
complete -c baro -n "__fish_baro_using_subcommand bench; and not __fish_seen_subcommand_from recorder push store load help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l dir -d 'Folder to measure' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l device -d 'The device' -r -f -a "none\t'The folder as it is'
emmc\t'12 MB/s written, 40 MB/s read, 2,000 requests/s'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l device-rate -d 'Bytes written a second by the modelled device, instead of its own 12 MB' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l writes -d 'Writes of each case, 5 ms apart' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l sets -d 'Sets of each case; the worst counts' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l file -d 'Bytes of a recording, and of each file of the loads' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l only -d 'Only cells whose name begins so: case/ALL, reader, unit, barograph, way' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l out -d 'The measurement' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l study -d 'Measure nothing: study this measurement' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l html -d 'The report' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l quick -d 'A minute: few writes of each case'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l full -d 'As the paper: 10,000 writes, 5 sets of each case'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l machine-wide -d 'Turn the kernel\'s flusher off where the paper does: for the whole machine, undone after each case (root)'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l all -d 'Also POSIX AIO, MCAP and SQLite'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l no-trace -d 'Do not trace beside it: the longest waits are not explained then'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -l anew -d 'Measure anew, and replace the file'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from recorder" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l dir -d 'Folder to measure' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l record-bytes -d 'Payload of a record' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l records -d 'Records whose push is timed' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l interval -d 'Time from one record to the next; from 1ms on the producer sleeps, below it spins. Without it: 2us for 256 bytes or less, 200us for larger records' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l rate -d 'Bytes per second instead of an interval: with 16 KiB records 200MB is one each 82 us' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l for -d 'Push for this time instead of a number of records' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l greedy -d 'Afterwards push for this time as fast as there is room; 0s leaves it out' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l ring -d 'Size of the ring' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l log -d 'Size of the log, recycled' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l durable-within -d 'Bound on the time from push to durable' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l load -d 'Loads beside it, as of `baro-lab load`' -r -f -a "buffered\t'Four sequential buffered writers that keep the device busy'
allocate\t'Paper A: truncation and allocation of 100 MB files each 5 ms'
churn\t'Paper D: large new files beside many small ones'
read\t'Paper A\'s reader of a file of its own, 2 MB at a time, at most 4 MB/s'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l load-dir -d 'Folder that the load writes to; the same file system without it' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l load-rate -d 'Bytes per second of the buffered writers together' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l cpu -d 'Processor of the producer' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l writer-cpu -d 'Processor of the writer' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l fifo -d 'SCHED_FIFO priority of producer and writer' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l buffered -d 'Write through the page cache'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l huge-yardstick -d 'Compare with a memcpy into huge pages, as the ring has, and not into ordinary ones'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -l short-queue -d 'Make the queue of the store\'s device short while measuring'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from push" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l dir -d 'Folder on the file system to measure; stores are made in it and removed' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l series -d 'Number of series of the walk' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l samples -d 'Samples in all, rounded up to whole ticks; recorded data is repeated to reach them' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l seed -d 'Makes walks and questions differ' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l order -d 'How the samples of the walk arrive' -r -f -a "ticks\t'Every tick all series, ascending'
shuffled\t'Within each 10 ticks any order'
bursty\t'Each series delivers 50 ticks at once'
late\t'One sample of 100 is late by up to a tenth of the range'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l times -d 'When the samples of the walk are taken' -r -f -a "grid\t'All series at the same times'
offset\t'Each series at its own place within the tick'
jitter\t'At the tick, later by up to a millisecond'
poisson\t'Independent of each other; with the orders ticks and bursty'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l values -d 'What the values of the walk are made into' -r -f -a "walk\t'Three decimals'
float\t'Floats whose every bit counts'
counter\t'Integers that rise'
state\t'One of five, each kept for a while'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l late -d 'Of 100 samples of the walk so many come late, by up to a tenth of the range; 0, of an aged store 1' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l state -d 'In which state the store is asked' -r -f -a "fresh\t'All settled at once'
half\t'The first half settled, the other one in the log'
aged\t'Settled in ten portions, with late samples, merged; what was before is dropped'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l data -d 'What is pushed: walk, proc (kernel counters, recorded first), or a file with lines of time,series,value' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l record -d 'How long proc is recorded' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l interval -d 'Time from one reading of proc to the next' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l log -d 'Size of the log; as large as the samples need if not given' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l budget -d 'Time for each kind of question; what takes longer is asked less often' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l rate -d 'Push so many samples a second, waiting for nobody, and not as many as go in' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l for -d 'How long, with --rate' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l runs-size -d 'With --rate: the oldest runs are dropped while all together are larger' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l csv -d 'With --rate: a file for memory, disk and pushes over time' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l svg -d 'With --rate: a picture of it' -r -F
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -l format -d 'text or json' -r -f -a "text\t'For people'
json\t'One JSON document; keys carry units'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from store" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from load" -l kind -d 'Which loads, one or more' -r -f -a "buffered\t'Four sequential buffered writers that keep the device busy'
allocate\t'Paper A: truncation and allocation of 100 MB files each 5 ms'
churn\t'Paper D: large new files beside many small ones'
read\t'Paper A\'s reader of a file of its own, 2 MB at a time, at most 4 MB/s'"
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from load" -l rate -d 'Bytes per second of all buffered writers together; as fast as it goes without it' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from load" -l for -d 'Stop after this time' -r
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from load" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "recorder" -d 'How long write() keeps a recorder waiting'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "push" -d 'What a push costs'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "store" -d 'A store of any number of sensors'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "load" -d 'Keep a disk busy'
complete -c baro -n "__fish_baro_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "init" -d 'Make a store'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "record" -d 'Record into a store'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "listen" -d 'Take samples over HTTP'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "token" -d 'Tokens for HTTP'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "import" -d 'Import samples from files'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "pin" -d 'Keep a window of time'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "delete" -d 'Take samples out for good'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "settle" -d 'Move samples into runs'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "lake" -d 'Hand over to Delta Lake'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "rings" -d 'List and clear old rings'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "info" -d 'Tell what a store holds'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "list" -d 'List series and channels'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "cat" -d 'Print all, by time'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "query" -d 'Samples or means of series'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "serve" -d 'Answer queries over HTTP'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "export" -d 'Write CSV, MCAP, Parquet'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "du" -d 'Bytes of each series'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "watch" -d 'Watch what comes in'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "top" -d 'Series that take most'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "verify" -d 'Look for damage'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "backup" -d 'Keep a second copy'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "recover" -d 'Rescue a damaged store'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "trace" -d 'Record what the kernel does'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "explain" -d 'Say why calls were late'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "blk" -d 'Watch a disk\'s traffic'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "share" -d 'Share a disk by weight'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "tune" -d 'Check and set the machine'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "plan" -d 'Plan a recording'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "demo" -d 'See it on this machine'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "bench" -d 'Measure this machine'
complete -c baro -n "__fish_baro_using_subcommand help; and not __fish_seen_subcommand_from init record listen token import pin delete settle lake rings info list cat query serve export du watch top verify backup recover trace explain blk share tune plan demo bench help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "new" -d 'Make a token'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List tokens'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "revoke" -d 'Revoke a token'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "handle" -d 'Waits for handles of a journal'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "state" -d 'Stages of a journal\'s transactions'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "blocks" -d 'Blocks of each transaction'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "space" -d 'Room in a journal over time'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "syscall" -d 'System calls of each task'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "waits" -d 'Where tasks waited, and who woke them'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "install" -d 'A service that traces slow calls'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from share" -f -a "run" -d 'Run a command in a group of its own, with a weight'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from share" -f -a "hold" -d 'Hold all groups of a profile until told to end'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from share" -f -a "status" -d 'What each group was asked to have, and what it has'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from share" -f -a "install" -d 'A service that holds the groups of a profile from boot on'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "check" -d 'Say what a recorder needs of this machine'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "apply" -d 'Set it, and put it back at the end'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "undo" -d 'Put settings back that are kept or were left'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from tune" -f -a "show" -d 'Show it as text for each boot'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "recorder" -d 'How long write() keeps a recorder waiting'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "push" -d 'What a push costs'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "store" -d 'A store of any number of sensors'
complete -c baro -n "__fish_baro_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "load" -d 'Keep a disk busy'
