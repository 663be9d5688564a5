// Package metrics serves what an operator watches of a broker, over HTTP in the text form of Prometheus:
//
//	/metrics   the metrics
//	/healthz   200 and "ok" while the broker can go on, else 503 and why not
//
// Nothing is kept here: each scrape reads the counters of the packages that count, and asks the logs for their sizes. It
// costs a broker of 10,000 partitions some milliseconds for each scrape, and the hot paths two additions for each request.
//
// # Metrics
//
//	zurau_request_duration_seconds{api}            histogram, from a request's start in its turn to its answer
//	zurau_request_errors_total{api,error}          error codes in answers; a request may have one for each partition
//	zurau_request_bytes_total{api}                 and zurau_response_bytes_total{api}
//	zurau_append_duration_seconds{mode}            histogram, of batches: until they are written (async) or flushed (sync)
//	zurau_log_write_duration_seconds               histogram, of a writer's writes, with the flush where the topic is sync; and
//	zurau_log_flush_duration_seconds               of flushes apart from them; checkpoint_duration_seconds of checkpoints
//	zurau_log_written_bytes_total                  and _log_read_bytes_total, of record batches
//	zurau_log_files_open                           by writers and readers; _opened_total, and _evicted_total: closed to make room for others
//	zurau_appends_refused_total{reason}            no_space (the reserve), busy, offline, too_large, deleted, closed, producer
//	zurau_connections                              open now; _accepted_total, _closed_total{reason}, _moved_total
//	zurau_network_memory_bytes                     of frames and answers
//	zurau_topic_partitions{topic}                  and, summed over them, of each topic:
//	zurau_topic_log_bytes, zurau_topic_records     what is stored
//	zurau_topic_appended_records_total             log end offsets: its rate is that of appends
//	zurau_topic_unflushed_records                  what a power cut could take
//	zurau_log_directory_up{dir}                    0 when it is offline, or for how many logs: zurau_logs_offline
//	zurau_log_directory_logs{dir}                  and _free_bytes{dir}, _room_bytes{dir}: what is free, and what appends may take of it
//	zurau_recovery_...{dir}                        what the last start found: duration, bytes scanned and cut, corrupt logs
//	go_..., process_...                            the process
package metrics
