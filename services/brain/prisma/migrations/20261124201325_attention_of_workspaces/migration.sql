-- Whose attention it was is not known: it is that of the workspace where the brain is at home.
ALTER TABLE "brain"."brain_attention" ADD COLUMN "workspace" TEXT;
UPDATE "brain"."brain_attention" a SET "workspace" = coalesce((SELECT h."workspace" FROM "brain"."brain_homes" h WHERE h."id" = a."brain_id"), '');
ALTER TABLE "brain"."brain_attention" ALTER COLUMN "workspace" SET NOT NULL;

-- AlterTable
ALTER TABLE "brain"."brain_attention" DROP CONSTRAINT "brain_attention_pkey",
ADD CONSTRAINT "brain_attention_pkey" PRIMARY KEY ("brain_id", "workspace", "name");
