-- What is signed is kept to the millisecond, however far away it is.
-- AlterTable
ALTER TABLE "agora"."ballot_entries"
  ALTER COLUMN "voted_at" TYPE BIGINT USING round(extract(epoch FROM "voted_at") * 1000)::bigint,
  ALTER COLUMN "admitted_at" TYPE BIGINT USING round(extract(epoch FROM "admitted_at") * 1000)::bigint;
