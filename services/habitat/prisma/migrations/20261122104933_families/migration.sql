-- AlterTable
ALTER TABLE "habitat"."agents" ADD COLUMN     "ancestors" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "brain_held" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "family" TEXT,
ADD COLUMN     "team_held" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "habitat"."orgs" ADD COLUMN     "confirmed_at" TIMESTAMPTZ(3),
ADD COLUMN     "confirmed_by" TEXT;

-- AlterTable
ALTER TABLE "habitat"."roles" ADD COLUMN     "source" TEXT NOT NULL DEFAULT 'family';

-- AlterTable
ALTER TABLE "habitat"."trust_records" ADD COLUMN     "counted" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "family" TEXT;

-- CreateIndex
CREATE INDEX "agents_family_created_at_idx" ON "habitat"."agents"("family", "created_at");

-- CreateIndex
CREATE INDEX "trust_records_entity_id_family_at_idx" ON "habitat"."trust_records"("entity_id", "family", "at");

-- CreateIndex
CREATE INDEX "trust_records_family_at_idx" ON "habitat"."trust_records"("family", "at");

-- What there is so far: an agent belongs to whoever spawned it, and so on upwards.
WITH RECURSIVE "line" ("agent_id", "family", "ancestors") AS (
  SELECT a."agent_id", CASE WHEN a."created_by" = 'operator' THEN a."agent_id" ELSE a."created_by" END,
    CASE WHEN a."created_by" = 'operator' THEN ARRAY[]::text[] ELSE ARRAY[a."created_by"] END
  FROM "habitat"."agents" a
  WHERE NOT EXISTS (SELECT 1 FROM "habitat"."agents" s WHERE s."agent_id" = a."created_by")
  UNION ALL
  SELECT a."agent_id", l."family", l."ancestors" || l."agent_id"
  FROM "habitat"."agents" a JOIN "line" l ON a."created_by" = l."agent_id")
UPDATE "habitat"."agents" a SET "family" = l."family", "ancestors" = l."ancestors",
  "team_held" = a."created_by" = 'operator', "brain_held" = a."created_by" = 'operator'
FROM "line" l WHERE l."agent_id" = a."agent_id";

UPDATE "habitat"."roles" r SET "source" = CASE
  WHEN r."granted_by" = 'operator' THEN 'operator'
  WHEN coalesce((SELECT "family" FROM "habitat"."agents" WHERE "agent_id" = r."granted_by"), r."granted_by")
    = coalesce((SELECT "family" FROM "habitat"."agents" WHERE "agent_id" = r."user_id"), r."user_id") THEN 'family'
  ELSE 'outside' END;

UPDATE "habitat"."trust_records" t SET "counted" = t."delta" <> 0,
  "family" = coalesce((SELECT "family" FROM "habitat"."agents" WHERE "agent_id" = t."by"), t."by");

-- Whatever no owner asked for, and every plan beyond the free one, came from an operator.
UPDATE "habitat"."orgs" SET "confirmed_at" = "created_at", "confirmed_by" = 'operator'
WHERE "owner" IS NULL OR "plan" <> 'free';
