-- AlterTable
ALTER TABLE "habitat"."agent_messages" ADD COLUMN     "carried_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "habitat"."agent_tasks" ADD COLUMN     "carried_at" TIMESTAMPTZ(3);

-- What has not arrived yet is little beside what has.
CREATE INDEX "agent_messages_uncarried" ON "habitat"."agent_messages" ("at") WHERE "carried_at" IS NULL;
CREATE INDEX "agent_tasks_uncarried" ON "habitat"."agent_tasks" ("at") WHERE "carried_at" IS NULL AND "ended_at" IS NULL;
