-- AlterTable
ALTER TABLE "universe"."cron_jobs" ADD COLUMN     "family" TEXT;
-- Who made a job counts as its family until it is made anew.
UPDATE "universe"."cron_jobs" SET "family" = "agent_id";
