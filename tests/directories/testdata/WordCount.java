import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts the words of the topic "lines", once for each application that is named, until all of them have counted as many
 * words as are wanted. Prints the counts, a line each: application, word, count.
 *
 *     java WordCount.java BOOTSTRAP STATE-DIR WORDS APPLICATION=GUARANTEE,PROTOCOL...
 *
 * An application has a repartition topic (words are keys there, lines had none), a changelog of its store, which is in
 * memory, so that a start restores it from there, and the output topic APPLICATION-counts, which has to be there.
 */
public class WordCount {
    public static void main(String[] args) throws Exception {
        long words = Long.parseLong(args[2]);
        List<KafkaStreams> all = new ArrayList<>();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        for (int i = 3; i < args.length; i++) {
            String[] app = args[i].split("[=,]");
            KafkaStreams streams = application(args[0], args[1], app[0], app[1], app[2]);
            streams.setUncaughtExceptionHandler(e -> {
                failure.compareAndSet(null, e);
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            all.add(streams);
        }
        for (int i = 0; i < all.size(); i++) {
            String name = args[3 + i].split("=")[0];
            counted(all.get(i), words, failure).forEach((word, n) -> System.out.println(name + " " + word + " " + n));
        }
        for (KafkaStreams streams : all) {
            if (!streams.close(Duration.ofSeconds(60))) {
                throw new IllegalStateException("an application did not stop");
            }
        }
    }

    private static KafkaStreams application(String servers, String dir, String name, String guarantee, String protocol) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("lines", Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .to(name + "-counts", Produced.with(Serdes.String(), Serdes.Long()));
        Properties config = new Properties();
        config.put("bootstrap.servers", servers);
        config.put("application.id", name);
        config.put("processing.guarantee", guarantee);
        config.put("group.protocol", protocol);
        config.put("state.dir", dir);
        config.put("commit.interval.ms", "100");
        config.put("repartition.purge.interval.ms", "100");
        config.put("statestore.cache.max.bytes", "0"); // each word is a record of the changelog and of the output
        config.put("consumer.auto.offset.reset", "earliest");
        return new KafkaStreams(builder.build(), config);
    }

    /** Waits for the words, and returns how often each was there. */
    private static TreeMap<String, Long> counted(KafkaStreams streams, long words, AtomicReference<Throwable> failure) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(180).toNanos();
        while (true) {
            TreeMap<String, Long> counts = new TreeMap<>();
            if (streams.state() == KafkaStreams.State.RUNNING) {
                try (var found = streams.store(StoreQueryParameters.fromNameAndType("counts", QueryableStoreTypes.<String, Long>keyValueStore())).all()) {
                    found.forEachRemaining(e -> counts.put(e.key, e.value));
                } catch (InvalidStateStoreException e) {
                    counts.clear(); // it is being moved
                }
            }
            if (counts.values().stream().mapToLong(Long::longValue).sum() >= words) {
                return counts;
            }
            if (failure.get() != null || System.nanoTime() > end) {
                throw new IllegalStateException(streams.state() + ", counted " + counts, failure.get());
            }
            Thread.sleep(20);
        }
    }
}
