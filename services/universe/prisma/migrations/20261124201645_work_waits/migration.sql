-- DropIndex
DROP INDEX "universe"."work_stream_id_key_key";

-- AlterTable
ALTER TABLE "universe"."work" ADD COLUMN     "waits" BOOLEAN NOT NULL DEFAULT false;

-- What waits for its time when the column comes.
UPDATE "universe"."work" SET "waits" = true WHERE "status" = 'pending' AND "available_at" > clock_timestamp();

-- Partial indexes, which the schema cannot say: each change of an item touches those of its state alone.
DROP INDEX "universe"."work_pending";
DROP INDEX "universe"."work_expiring";
DROP INDEX "universe"."work_closed";
CREATE UNIQUE INDEX "work_keyed" ON "universe"."work" ("stream_id", "key") WHERE "key" IS NOT NULL;
CREATE INDEX "work_ready" ON "universe"."work" ("stream_id", "seq") WHERE "status" = 'pending' AND NOT "waits";
CREATE INDEX "work_waiting" ON "universe"."work" ("stream_id", "available_at") WHERE "status" = 'pending' AND "waits";
CREATE INDEX "work_closed" ON "universe"."work" ("stream_id", "closed_at") WHERE "closed_at" IS NOT NULL;
