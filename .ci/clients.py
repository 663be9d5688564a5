"""confluent-kafka and kafka-python against a zurau broker: clients.py HOST:PORT."""

import sys

import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.admin

ADDR = sys.argv[1]
VALUES = [b"value %d of many" % i for i in range(2000)]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r:.200}, want {want!r:.200}")
    print("---", what)


def confluent():
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": ADDR})
    topics = [confluent_kafka.admin.NewTopic("c-" + codec, 1, 1) for codec in CODECS]
    for made in admin.create_topics(topics).values():
        made.result(30)
    for codec in CODECS:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": ADDR, "enable.idempotence": True, "compression.type": codec}
        )
        offsets = []

        def delivered(err, message):
            if err:
                sys.exit(f"confluent-kafka, {codec}: {err}")
            offsets.append(message.offset())

        for value in VALUES:
            producer.produce("c-" + codec, value, key=b"k", headers={"codec": codec}, on_delivery=delivered)
        producer.flush(60)
        check(f"confluent-kafka acknowledges in order, {codec}", offsets, list(range(len(VALUES))))

        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": ADDR, "group.id": "c-" + codec, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
        consumer.subscribe(["c-" + codec])
        got = []
        while len(got) < len(VALUES):
            message = consumer.poll(30)
            if message is None or message.error():
                sys.exit(f"confluent-kafka, {codec}: {message and message.error()} after {len(got)}")
            got.append(message.value())
        consumer.commit(asynchronous=False)
        check(f"confluent-kafka reads it back, {codec}", got, VALUES)
        at = consumer.committed([confluent_kafka.TopicPartition("c-" + codec, 0)], 30)[0]
        check(f"confluent-kafka commits, {codec}", at.offset, len(VALUES))
        consumer.close()
    for gone in admin.delete_topics(["c-none"]).values():
        gone.result(30)
    check("confluent-kafka deletes a topic", "c-none" in admin.list_topics(timeout=30).topics, False)


def python():
    admin = kafka.KafkaAdminClient(bootstrap_servers=ADDR)
    admin.create_topics([kafka.admin.NewTopic("p-" + codec, 1, 1) for codec in ("none", "gzip")])
    for codec in ("none", "gzip"):  # the others need modules of their own there
        producer = kafka.KafkaProducer(bootstrap_servers=ADDR, acks="all", compression_type=None if codec == "none" else codec)
        sent = [producer.send("p-" + codec, value, key=b"k") for value in VALUES]
        producer.close()
        check(f"kafka-python acknowledges in order, {codec}", [s.get(30).offset for s in sent], list(range(len(VALUES))))
        consumer = kafka.KafkaConsumer(
            "p-" + codec, bootstrap_servers=ADDR, group_id="p-" + codec, auto_offset_reset="earliest",
            enable_auto_commit=False, consumer_timeout_ms=30000,
        )
        got = []
        for message in consumer:
            got.append(message.value)
            if len(got) == len(VALUES):
                break
        consumer.commit()
        check(f"kafka-python reads it back, {codec}", got, VALUES)
        check(f"kafka-python commits, {codec}", consumer.committed(kafka.TopicPartition("p-" + codec, 0)), len(VALUES))
        consumer.close()
    check("kafka-python lists topics", {"p-none", "p-gzip"} <= set(admin.list_topics()), True)
    admin.close()


confluent()
python()
