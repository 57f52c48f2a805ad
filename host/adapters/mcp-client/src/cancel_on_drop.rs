//! The cancellation of requests that are no longer waited for.

use futures_util::FutureExt as _;
use rmcp::{
    RoleClient,
    model::{CancelledNotification, CancelledNotificationParam, RequestId},
    service::Peer,
};

/// Sends `notifications/cancelled` on drop unless the request was answered.
pub(crate) struct CancelOnDrop {
    pub(crate) peer: Peer<RoleClient>,
    /// `None` once answered.
    pub(crate) id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let reason = Some("the client is no longer waiting for the answer".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let told = CancelledNotification::new(params).into();
        // One poll queues the notification ahead of the next request. It is lost only if the server
        // is gone or more than a thousand messages are queued.
        let _ = self.peer.send_notification(told).now_or_never();
    }
}
