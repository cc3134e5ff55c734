-- AlterTable
ALTER TABLE "agora"."messages" ADD COLUMN "family" TEXT;
UPDATE "agora"."messages" SET "family" = "sender";
ALTER TABLE "agora"."messages" ALTER COLUMN "family" SET NOT NULL;
CREATE INDEX "messages_of_inbox" ON "agora"."messages" ("channel", "family") WHERE "channel" LIKE 'agent:%';

-- AlterTable
ALTER TABLE "agora"."subscriptions" ADD COLUMN "family" TEXT;
UPDATE "agora"."subscriptions" SET "family" = "actor";
ALTER TABLE "agora"."subscriptions" ALTER COLUMN "family" SET NOT NULL;

-- CreateIndex
CREATE INDEX "subscriptions_family_idx" ON "agora"."subscriptions"("family");
