-- AlterTable
ALTER TABLE "habitat"."agent_tasks" ADD COLUMN     "queued_at" TIMESTAMPTZ(3),
ADD COLUMN     "report" INTEGER NOT NULL DEFAULT 0;

-- What is over has nothing to do with queues any more.
UPDATE "habitat"."agent_tasks" SET "queued_at" = "ended_at" WHERE "ended_at" IS NOT NULL;
CREATE INDEX "agent_tasks_unqueued" ON "habitat"."agent_tasks" ("at", "task_id") WHERE "queued_at" IS NULL;
