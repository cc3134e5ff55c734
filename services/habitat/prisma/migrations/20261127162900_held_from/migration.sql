-- AlterTable
ALTER TABLE "habitat"."agents" ADD COLUMN     "brain_from" TEXT,
ADD COLUMN     "brain_home" TEXT,
ADD COLUMN     "team_from" TEXT;

-- What there is so far: whoever has its team from no operator, and from no spawner that was given it, has it from its spawner.
-- Where its brain was at home nobody knows any more, so a brain stays held.
WITH RECURSIVE "line" ("agent_id", "team", "holder") AS (
  SELECT a."agent_id", a."team", a."created_by" FROM "habitat"."agents" a
  WHERE a."team_held" AND a."created_by" = ANY(a."ancestors") AND NOT EXISTS (SELECT 1 FROM "habitat"."agents" s
    WHERE s."agent_id" = a."created_by" AND s."team_held" AND s."team" = a."team")
  UNION ALL
  SELECT a."agent_id", a."team", l."holder" FROM "habitat"."agents" a JOIN "line" l ON a."created_by" = l."agent_id"
  WHERE a."team_held" AND a."team" = l."team" AND a."created_by" = ANY(a."ancestors"))
UPDATE "habitat"."agents" a SET "team_from" = l."holder" FROM "line" l WHERE l."agent_id" = a."agent_id";
