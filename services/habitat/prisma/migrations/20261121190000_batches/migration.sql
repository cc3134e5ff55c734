-- What one transaction tells lies in one row: a row for each event and each audit entry cost more than what it told of.
CREATE TABLE "habitat"."event_batches" (
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

CREATE TABLE "habitat"."audit_batches" (
    "id" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "bytes" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "entries" JSON NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "audit_batches_pkey" PRIMARY KEY ("id")
);

INSERT INTO "habitat"."event_batches" ("first_id", "last_id", "count", "bytes", "last", "at", "events")
  SELECT "id", "id", 1, octet_length("events"), "position", "at", "events"::json FROM (
    SELECT "id", "position", "at", "written", jsonb_build_array(jsonb_build_object('id', "id", 'name', "name",
      'at', floor(extract(epoch FROM "at") * 1000), 'node', "node", 'payload', "payload")
      || CASE WHEN "workspace" IS NULL THEN '{}' ELSE jsonb_build_object('workspace', "workspace") END)::text AS "events"
    FROM "habitat"."outbox") told ORDER BY "written";
INSERT INTO "habitat"."audit_batches" ("id", "count", "bytes", "at", "entries")
  SELECT "id", 1, octet_length("entries"), "at", "entries"::json FROM (
    SELECT "id", "at", "written", json_build_array(json_build_object('id', "id", 'event', "event",
      'workspace', "workspace", 'subject', "subject", 'data', "data"))::text AS "entries"
    FROM "habitat"."audit_outbox") noted ORDER BY "written";

DROP TABLE "habitat"."outbox";
DROP TABLE "habitat"."audit_outbox";

CREATE UNIQUE INDEX "event_batches_last_key" ON "habitat"."event_batches"("last");
CREATE INDEX "audit_batches_written_idx" ON "habitat"."audit_batches"("written");
-- Few of all events still wait for their position.
CREATE INDEX "event_batches_waiting" ON "habitat"."event_batches" ("written") WHERE "last" IS NULL;

-- One by one, for whoever looks at them in the database.
CREATE VIEW "habitat"."outbox" AS
  SELECT "event"->>'id' AS "id", "last" - "count" + "line" AS "position", "event"->>'name' AS "name",
    ("event"->'payload')::jsonb AS "payload", "event"->>'workspace' AS "workspace", "event"->>'node' AS "node",
    to_timestamp(("event"->>'at')::float8 / 1000.0) AS "at", "written", "line"
  FROM "habitat"."event_batches", json_array_elements("events") WITH ORDINALITY AS told ("event", "line");
CREATE VIEW "habitat"."audit_outbox" AS
  SELECT "entry"->>'id' AS "id", "entry"->>'event' AS "event", "entry"->>'workspace' AS "workspace",
    "entry"->'subject' AS "subject", "entry"->'data' AS "data", "at", "written", "line"
  FROM "habitat"."audit_batches", json_array_elements("entries") WITH ORDINALITY AS noted ("entry", "line");
