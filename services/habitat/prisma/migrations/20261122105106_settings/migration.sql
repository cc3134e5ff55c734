-- AlterTable
ALTER TABLE "habitat"."registry_revision" ADD COLUMN     "settings" BIGINT NOT NULL DEFAULT 1;

-- CreateTable
CREATE TABLE "habitat"."settings" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "changed_by" TEXT NOT NULL,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("key")
);
