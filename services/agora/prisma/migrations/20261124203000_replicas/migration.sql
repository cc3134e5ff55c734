-- AlterTable
ALTER TABLE "agora"."topics" ADD COLUMN "brought_by" TEXT,
ADD COLUMN "told" INTEGER NOT NULL DEFAULT 0;
UPDATE "agora"."topics" SET "brought_by" = "synced_from" WHERE "replica";

-- CreateIndex
CREATE INDEX "topics_brought_by_idx" ON "agora"."topics"("brought_by");
