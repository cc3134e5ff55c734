-- What every service has: events on their way to the bus, outcomes of keyed calls, audit entries on their way to the chains.
-- Services that are older than this file have made the same tables themselves.
CREATE SCHEMA IF NOT EXISTS "{schema}";

CREATE TABLE IF NOT EXISTS "{schema}"."event_batches" (
    "first_id" TEXT NOT NULL,
    "last_id" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "bytes" INTEGER NOT NULL,
    "last" BIGINT,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "events" JSON NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "event_batches_pkey" PRIMARY KEY ("first_id")
);

-- There is exactly one head, and it is there from the start.
CREATE TABLE IF NOT EXISTS "{schema}"."outbox_head" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "head" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "outbox_head_pkey" PRIMARY KEY ("one"),
    CONSTRAINT "outbox_head_one" CHECK ("one")
);
INSERT INTO "{schema}"."outbox_head" DEFAULT VALUES ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS "{schema}"."idempotency" (
    "principal" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "args_hash" TEXT NOT NULL,
    "outcome" JSON,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_pkey" PRIMARY KEY ("principal","tool","key")
);

CREATE TABLE IF NOT EXISTS "{schema}"."audit_batches" (
    "id" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "bytes" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "entries" JSON NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "audit_batches_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX IF NOT EXISTS "event_batches_last_key" ON "{schema}"."event_batches"("last");
-- Few of all events still wait for their position.
CREATE INDEX IF NOT EXISTS "event_batches_waiting" ON "{schema}"."event_batches" ("written") WHERE "last" IS NULL;
CREATE INDEX IF NOT EXISTS "idempotency_at_idx" ON "{schema}"."idempotency"("at");
CREATE INDEX IF NOT EXISTS "audit_batches_written_idx" ON "{schema}"."audit_batches"("written");

-- One by one, for whoever looks at them in the database.
CREATE OR REPLACE VIEW "{schema}"."outbox" AS
  SELECT "event"->>'id' AS "id", "last" - "count" + "line" AS "position", "event"->>'name' AS "name",
    ("event"->'payload')::jsonb AS "payload", "event"->>'workspace' AS "workspace", "event"->>'node' AS "node",
    to_timestamp(("event"->>'at')::float8 / 1000.0) AS "at", "written", "line"
  FROM "{schema}"."event_batches", json_array_elements("events") WITH ORDINALITY AS told ("event", "line");
CREATE OR REPLACE VIEW "{schema}"."audit_outbox" AS
  SELECT "entry"->>'id' AS "id", "entry"->>'event' AS "event", "entry"->>'workspace' AS "workspace",
    "entry"->'subject' AS "subject", "entry"->'data' AS "data", "at", "written", "line"
  FROM "{schema}"."audit_batches", json_array_elements("entries") WITH ORDINALITY AS noted ("entry", "line");
