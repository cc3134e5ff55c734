-- AlterTable
ALTER TABLE "brain"."brain_homes" ADD COLUMN     "family" TEXT;

-- CreateIndex
CREATE INDEX "brain_homes_workspace_idx" ON "brain"."brain_homes"("workspace");

-- CreateIndex
CREATE INDEX "brain_homes_family_idx" ON "brain"."brain_homes"("family");
