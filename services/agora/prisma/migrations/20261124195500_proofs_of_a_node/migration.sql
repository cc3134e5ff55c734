-- Ballots of two nodes prove nothing of either.
DELETE FROM "agora"."equivocations"
  WHERE "pair"::json -> 0 -> 'ballot' ->> 'node' <> "pair"::json -> 1 -> 'ballot' ->> 'node';

-- AlterTable
ALTER TABLE "agora"."equivocations" ADD COLUMN "node" TEXT;
UPDATE "agora"."equivocations" SET "node" = "pair"::json -> 0 -> 'ballot' ->> 'node';
ALTER TABLE "agora"."equivocations" ALTER COLUMN "node" SET NOT NULL,
  DROP CONSTRAINT "equivocations_pkey",
  ADD CONSTRAINT "equivocations_pkey" PRIMARY KEY ("topic","voter","node");
